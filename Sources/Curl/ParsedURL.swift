internal import Core

/// A checked and normalised http or https URL; only `URLParser` creates it.
///
/// libcurl gets `absoluteString`, so the checked URL is the used one.
package struct ParsedURL: Equatable, Hashable, Sendable {
    package enum Scheme: String, Sendable {
        case http
        case https
    }

    /// The server of a URL: two URLs of one origin may use the same credentials and cookies (RFC 6454, 4).
    package struct Origin: Equatable, Hashable, Sendable {
        package let scheme: Scheme
        /// In lower case; an IPv6 address keeps its brackets.
        package let host: String
        package let port: Int
    }

    /// Name and password, percent-decoded; either may be empty.
    package struct UserInfo: Equatable, Hashable, Sendable {
        package let user: String
        package let password: String

        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    package let origin: Origin
    /// Percent-encoded as given, dot segments removed, never empty; without the query.
    package let path: String
    /// The part before the `@`; not part of `absoluteString`.
    package let userInfo: UserInfo?
    /// The whole URL without userinfo and fragment.
    package let absoluteString: String
    /// The part after the path's last slash, percent-decoded: any bytes, possibly none. Not yet a safe file name.
    package let lastPathSegment: [UInt8]

    package var scheme: Scheme { origin.scheme }
    package var host: String { origin.host }
    /// The given port, else the scheme's default.
    package var port: Int { origin.port }
    package var hasUserInfo: Bool { userInfo != nil }

    init(origin: Origin, path: String, userInfo: UserInfo?, absoluteString: String) {
        self.origin = origin
        self.path = path
        self.userInfo = userInfo
        self.absoluteString = absoluteString
        let encoded = path.utf8.suffix(while: { $0 != UInt8(ascii: "/") })
        lastPathSegment = PercentEncoding.decode(encoded)
    }
}

extension BidirectionalCollection {
    /// The longest suffix whose elements all satisfy the predicate.
    fileprivate func suffix(while predicate: (Element) -> Bool) -> SubSequence {
        let start = lastIndex { !predicate($0) }.map { index(after: $0) } ?? startIndex
        return self[start...]
    }
}

/// Why a text is not a URL that can be downloaded.
package struct URLError: Error, Equatable, Sendable {
    package enum Reason: Sendable {
        case empty
        case tooLong
        /// A control character or a space.
        case illegalCharacter
        case noScheme
        case unsupportedScheme
        case noHost
        case badHost
        case badPort
        case badUserInfo
        case malformed
    }
    package let reason: Reason
    /// The reason as a phrase for people; quotes only the scheme of the URL.
    package let message: String

    init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
