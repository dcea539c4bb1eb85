package import Core
internal import Files
internal import Platform

/// What another process, with another state directory, needs to go on with a download; a text that hosts keep.
///
/// Holds no header, no userinfo and no query: those may be secrets. It is worth as much as its partial: whoever starts
/// with it takes the partial over, after which it is of no use any more.
package struct ResumeData: Equatable, Sendable {
    /// The partial and what of it may be counted on.
    struct Held: Equatable, Sendable {
        var path: String
        var identity: FileIdentity
        /// Besides the identity, because inode numbers are used again.
        var birthNanoseconds: Int64
        var durable: ByteRangeSet
        var written: ByteRangeSet
        /// The boot and the mount in which `written` counts.
        var bootID: String
        var mountID: Int64?
    }

    /// The source without userinfo, query and fragment.
    package internal(set) var url: String
    /// False when something was left out of the URL: then the host has to give it again.
    package internal(set) var isURLWhole: Bool
    /// The destination; nil while the file has no name.
    package internal(set) var path: String?
    /// Where it is to be named, if it has no name.
    package internal(set) var directory: String?
    /// What the download was started with, without headers.
    package internal(set) var options: DownloadOptions
    var entity: Entity?
    var suggestedFileName: String?
    /// Nil when nothing is held that could be told from another file later.
    var held: Held?

    /// Where the bytes are that it brings, if any.
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

/// How resume data is written: `name=value` pairs joined by `&`, values percent-encoded, a digest of all that at the end.
extension ResumeData {
    private enum Name: String, CaseIterable {
        case url
        case urlWhole
        case path
        case directory
        case options
        case ifExists
        case checksum
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
    private static let prefix = "towline-resume-1&"
    private static let digestName = "&sha256="
    /// More ranges than this are not exported: the first and the largest are.
    private static let maxRangeCount = 200

    /// Nil when the text would be longer than its limit, or libcrypto fails.
    func encoded() -> String? {
        let pairs = Name.allCases.compactMap { name in
            value(name).map { "\(name.rawValue)=\(PercentEncoding.encode($0))" }
        }
        let text = Self.prefix + pairs.joined(separator: "&")
        guard let digest = sha256(Array(text.utf8)) else { return nil }
        let whole = text + Self.digestName + digest
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

    private static func text(_ ranges: ByteRangeSet) -> String {
        var kept = ranges.ranges
        if kept.count > maxRangeCount, let first = kept.first {
            let largest = kept.dropFirst().sorted { $0.byteCount > $1.byteCount }.prefix(maxRangeCount - 1)
            kept = ([first] + largest).sorted { $0.lowerBound < $1.lowerBound }
        }
        return kept.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
    }

    /// Reads what `encoded` wrote; a text that was changed in any way is refused.
    package init(_ text: String) throws(ResumeDataError) {
        guard text.hasPrefix("towline-resume-") else { throw ResumeDataError(message: "is not resume data") }
        guard text.hasPrefix(Self.prefix) else { throw ResumeDataError(message: "is of another version") }
        let bytes = Array(text.utf8)
        let digestByteCount = Self.digestName.utf8.count + Checksum.Algorithm.sha256.hexDigitCount
        guard bytes.count > Self.prefix.utf8.count + digestByteCount,
            let digest = sha256(Array(bytes.dropLast(digestByteCount))),
            bytes.suffix(digestByteCount).elementsEqual((Self.digestName + digest).utf8)
        else { throw ResumeDataError(message: "is damaged: it must be handed back as it was exported") }
        var values: [Name: String] = [:]
        let pairs = bytes.dropLast(digestByteCount).dropFirst(Self.prefix.utf8.count)
        for pair in String(decoding: pairs, as: UTF8.self).split(separator: "&") {
            guard let equals = pair.firstIndex(of: "="), let name = Name(rawValue: String(pair[..<equals])) else {
                continue
            }
            values[name] = PercentEncoding.decode(pair[pair.index(after: equals)...])
        }
        guard let url = values[.url] else { throw ResumeDataError(message: "names no URL") }
        self.url = url
        isURLWhole = values[.urlWhole] == "1"
        path = values[.path]
        directory = values[.directory]
        options = Self.options(values)
        suggestedFileName = values[.name]
        entity = Self.entity(values)
        held = Self.held(values)
    }

    private static func options(_ values: [Name: String]) -> DownloadOptions {
        var options = OptionsText.decode(values[.options] ?? "")
        options.ifExists = values[.ifExists].flatMap { IfExists(rawValue: $0) } ?? .error
        if let parts = values[.checksum]?.split(separator: ":"), parts.count == 2,
            let algorithm = Checksum.Algorithm(rawValue: String(parts[0]))
        {
            options.checksum = Checksum(algorithm: algorithm, value: String(parts[1]))
        }
        return options
    }

    private static func entity(_ values: [Name: String]) -> Entity? {
        guard let http11 = values[.http11] else { return nil }
        return Entity(
            totalByteCount: values[.total].flatMap { Int64($0) },
            etag: values[.etag],
            lastModified: values[.lastModified],
            date: values[.date],
            contentType: values[.type],
            contentEncoding: values[.encoding],
            isLastModifiedStrong: values[.lastModifiedStrong] == "1",
            isHTTP11: http11 == "1",
            refusesRanges: values[.refusesRanges] == "1"
        )
    }

    private static func held(_ values: [Name: String]) -> Held? {
        guard let path = values[.partial], let device = values[.device].flatMap({ UInt64($0) }),
            let inode = values[.inode].flatMap({ UInt64($0) }), let birth = values[.birth].flatMap({ Int64($0) })
        else { return nil }
        return Held(
            path: path,
            identity: FileIdentity(device: device, inode: inode),
            birthNanoseconds: birth,
            durable: ranges(values[.durable] ?? ""),
            written: ranges(values[.written] ?? ""),
            bootID: values[.boot] ?? "",
            mountID: values[.mount].flatMap { Int64($0) }
        )
    }

    private static func ranges(_ text: String) -> ByteRangeSet {
        let ranges = text.split(separator: ",").compactMap { part -> ByteRange? in
            let bounds = part.split(separator: "-").compactMap { Int64($0) }
            return bounds.count == 2 ? ByteRange(bounds[0], bounds[1]) : nil
        }
        return ByteRangeSet(ranges)
    }
}

/// Percent-encoding of any text into unreserved characters and a few more (RFC 3986, 2.1).
enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || "-._~/:,\"".utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A percent sign that two digits do not follow stands for itself.
    static func decode(_ text: some StringProtocol) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
