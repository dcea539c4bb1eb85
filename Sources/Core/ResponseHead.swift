/// The head of one final response (never a 1xx), as values.
package struct ResponseHead: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: String
        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
    package var status: Int
    /// 10 for HTTP/1.0, 11 for HTTP/1.1, 20 for HTTP/2.
    package var httpVersion: Int
    /// In the order received; values trimmed; bytes that are not UTF-8 are read as Latin-1.
    package var fields: [Field]
    /// `Date`, `Last-Modified` and a date in `Retry-After`, in seconds since 1970, as the caller parsed them; nil when
    /// missing or malformed.
    package var dateSeconds: Int64?
    package var lastModifiedSeconds: Int64?
    package var retryAfterDateSeconds: Int64?
    /// The name in `Content-Disposition`, as the caller read it; nil when there is none.
    package var fileName: String?

    package init(
        status: Int,
        httpVersion: Int = 11,
        fields: [Field] = [],
        dateSeconds: Int64? = nil,
        lastModifiedSeconds: Int64? = nil,
        retryAfterDateSeconds: Int64? = nil
    ) {
        self.status = status
        self.httpVersion = httpVersion
        self.fields = fields
        self.dateSeconds = dateSeconds
        self.lastModifiedSeconds = lastModifiedSeconds
        self.retryAfterDateSeconds = retryAfterDateSeconds
    }

    /// The values of all fields with that name, in order; the case of names is ignored.
    package func values(_ name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// The first value with that name.
    package func value(_ name: String) -> String? {
        fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }
}

extension String {
    /// Compares ASCII letters regardless of case and everything else byte for byte.
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        let left = utf8
        let right = other.utf8
        return left.count == right.count && zip(left, right).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    package var asciiLowercased: UInt8 { (65...90).contains(self) ? self | 0x20 : self }
}
