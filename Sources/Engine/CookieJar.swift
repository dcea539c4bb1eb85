internal import Core
internal import Curl

/// The cookies that one download's redirect chain set, in memory only; each goes back to its own origin alone.
///
/// Stricter than RFC 6265 on purpose: no domain matching, no paths, no life beyond the chain.
struct CookieJar {
    static let maxCookies = 50
    static let maxByteCount = 4_096

    private var cookies: [(origin: ParsedURL.Origin, name: String, value: String)] = []

    init() {}

    /// Keeps `name=value` of each Set-Cookie field; what is malformed or too much is ignored.
    mutating func store(_ values: [String], from origin: ParsedURL.Origin) {
        for field in values {
            let pair = field.prefix { $0 != ";" }
            guard pair.utf8.count <= Self.maxByteCount, let equals = pair.firstIndex(of: "=") else { continue }
            let name = trimmed(pair[..<equals])
            let value = trimmed(pair[pair.index(after: equals)...])
            guard !name.isEmpty, isClean(name), isClean(value) else { continue }
            cookies.removeAll { $0.origin == origin && $0.name == name }
            if Self.isDeletion(field) { continue }
            if cookies.count < Self.maxCookies { cookies.append((origin, name, value)) }
        }
    }

    private static func isDeletion(_ field: String) -> Bool {
        field.split(separator: ";").dropFirst().contains { attribute in
            let text = String(attribute.filter { $0 != " " && $0 != "\t" })
            return text.equalsIgnoringASCIICase("Max-Age=0")
        }
    }

    /// The Cookie field for a request to that origin; nil when there is none.
    func header(for origin: ParsedURL.Origin) -> String? {
        let pairs = cookies.filter { $0.origin == origin }.map { "\($0.name)=\($0.value)" }
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    private func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }

    private func isClean(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f || $0 == 0x20 } }
}
