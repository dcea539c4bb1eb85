package import Core
internal import Files
internal import Platform

/// What another process with another state directory needs to continue a download; a text that hosts store.
///
/// It contains no header, userinfo or query, because those may be secrets. It can be used once: `start` with it takes
/// the partial over. It is signed with a key that only processes of this user on this machine can read (`ResumeKeys`):
/// so a text that somebody else wrote cannot name a file that we would touch.
package struct ResumeData: Equatable, Sendable {
    /// The partial, and which of its bytes can be trusted.
    struct Held: Equatable, Sendable {
        var path: String
        var identity: FileIdentity
        /// In addition to the identity, because inode numbers are reused.
        var birthNanoseconds: Int64
        var durable: ByteRangeSet
        var written: ByteRangeSet
        /// The boot and the mount for which `written` is valid.
        var bootID: String
        var mountID: Int64?
    }

    /// The URL without userinfo, query and fragment.
    package internal(set) var url: String
    /// False if something was left out of the URL: then the host must give it again.
    package internal(set) var isURLWhole: Bool
    /// The destination; nil while the file has no name.
    package internal(set) var path: String?
    /// The directory for the file, if it has no name.
    package internal(set) var directory: String?
    /// The options of the download, without headers.
    package internal(set) var options: DownloadOptions
    var entity: Entity?
    var suggestedFileName: String?
    /// Nil if there are no bytes that can later be distinguished from another file.
    var held: Held?
    /// The signed text and its signature; empty if it was not read from a text.
    var signature = Signature()

    struct Signature: Equatable, Sendable {
        var text: [UInt8] = []
        var mac = ""
    }

    /// The path of the partial, if there is one.
    package var partialPath: String? { held?.path }
}

/// Why a text is not resume data.
package struct ResumeDataError: Error, Equatable, Sendable {
    /// Completes "params.resumeData: …".
    package var message: String

    package init(message: String) {
        self.message = message
    }
}

/// The format of resume data: `name=value` pairs joined by `&`, with percent-encoded values, then an authentication
/// code of all that (`mac`, RFC 2104), then a digest that distinguishes damage from forgery.
extension ResumeData {
    enum Name: String, CaseIterable {
        case url
        case urlWhole
        case path
        case directory
        case options
        case ifExists
        case checksum
        case priority
        case name
        case total
        case etag
        case lastModified
        case lastModifiedStrong
        case date
        case type
        case encoding
        case http11
        case refusesRanges
        case partial
        case device
        case inode
        case birth
        case durable
        case written
        case boot
        case mount
    }
    static let prefix = "towline-resume-1&"
    static let macName = "&mac="
    static let digestName = "&sha256="
    static let hexDigitCount = Checksum.Algorithm.sha256.hexDigitCount
    /// If there are more ranges, only the first and the largest are exported.
    private static let maxRangeCount = 200

    /// Nil if the text would be longer than its limit, or if libcrypto fails.
    func encoded(key: [UInt8]) -> String? {
        let pairs = Name.allCases.compactMap { name in
            value(name).map { "\(name.rawValue)=\(PercentEncoding.encode($0))" }
        }
        let text = Self.prefix + pairs.joined(separator: "&")
        guard let mac = hmacSHA256(Array(text.utf8), key: key) else { return nil }
        let signed = text + Self.macName + mac
        guard let digest = sha256(Array(signed.utf8)) else { return nil }
        let whole = signed + Self.digestName + digest
        return whole.utf8.count <= Limits.resumeDataByteCount ? whole : nil
    }

    private func value(_ name: Name) -> String? {
        switch name {
        case .url: url
        case .urlWhole: isURLWhole ? "1" : nil
        case .path: path
        case .directory: directory
        case .options: OptionsText.encode(options)
        case .ifExists: options.ifExists.rawValue
        case .checksum: options.checksum.map { "\($0.algorithm.rawValue):\($0.value)" }
        case .priority: options.priority == 0 ? nil : String(options.priority)
        case .name: suggestedFileName
        case .total: entity?.totalByteCount.map { String($0) }
        case .etag: entity?.etag
        case .lastModified: entity?.lastModified
        case .lastModifiedStrong: entity?.isLastModifiedStrong == true ? "1" : nil
        case .date: entity?.date
        case .type: entity?.contentType
        case .encoding: entity?.contentEncoding
        case .http11: entity.map { $0.isHTTP11 ? "1" : "0" }
        case .refusesRanges: entity?.refusesRanges == true ? "1" : nil
        case .partial: held?.path
        case .device: held.map { String($0.identity.device) }
        case .inode: held.map { String($0.identity.inode) }
        case .birth: held.map { String($0.birthNanoseconds) }
        case .durable: held.map { Self.text($0.durable) }
        case .written: held.map { Self.text($0.written) }
        case .boot: held?.bootID
        case .mount: held?.mountID.map { String($0) }
        }
    }

    /// True only if it was exported with this key.
    func isSigned(with key: [UInt8]) -> Bool {
        guard !signature.text.isEmpty, let mac = hmacSHA256(signature.text, key: key) else { return false }
        // Compares in constant time, so that the time does not show how much is right.
        let difference = zip(mac.utf8, signature.mac.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
        return mac.utf8.count == signature.mac.utf8.count && difference == 0
    }

    private static func text(_ ranges: ByteRangeSet) -> String {
        var kept = ranges.ranges
        if kept.count > maxRangeCount, let first = kept.first {
            let largest = kept.dropFirst().sorted { $0.byteCount > $1.byteCount }.prefix(maxRangeCount - 1)
            kept = ([first] + largest).sorted { $0.lowerBound < $1.lowerBound }
        }
        return kept.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }
}
