/// A JSON object: members in the order in which they were written.
///
/// A look-up by key scans the members; our objects have few.
package struct JSONObject: Sendable {
    /// A key with its value.
    package typealias Member = (key: String, value: JSONValue)

    /// The members in order; keys are distinct.
    package private(set) var members: [Member]

    /// `{}`
    package init() { members = [] }

    /// An object with these members in this order.
    ///
    /// - Precondition: the keys are distinct. Only debug builds check.
    package init(_ members: [(String, JSONValue)]) {
        assert(Set(members.map(\.0)).count == members.count, "an object has one key twice")
        self.members = members.map { (key: $0.0, value: $0.1) }
    }

    /// Takes members whose keys the parser has found to be distinct.
    init(parsed members: [Member]) { self.members = members }

    /// The number of members.
    package var count: Int { members.count }

    /// True for `{}`.
    package var isEmpty: Bool { members.isEmpty }

    /// The keys in order.
    package var keys: [String] { members.map(\.key) }

    /// The value of a member, null included; nil when there is no such member.
    ///
    /// Setting replaces the member in its place or appends it; setting nil removes it.
    package subscript(key: String) -> JSONValue? {
        get { index(of: key).map { members[$0].value } }
        set {
            switch (index(of: key), newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    private func index(of key: String) -> Int? {
        members.firstIndex { areSameBytes($0.key, key) }
    }
}

extension JSONObject: Equatable {
    /// Equal members in any order: JSON gives their order no meaning.
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        if left.count != right.count { return false }
        let isSameOrder = zip(left.members, right.members).allSatisfy { left, right in
            areSameBytes(left.key, right.key) && left.value == right.value
        }
        return isSameOrder || left.isPermutation(of: right)
    }

    // Byte arrays as keys, because a dictionary of strings would merge equivalent spellings.
    private func isPermutation(of other: JSONObject) -> Bool {
        var values: [[UInt8]: JSONValue] = [:]
        for member in other.members { values[Array(member.key.utf8)] = member.value }
        return members.allSatisfy { values[Array($0.key.utf8)] == $0.value }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// An object; the keys must be distinct.
    package init(dictionaryLiteral members: (String, JSONValue)...) { self.init(members) }
}
