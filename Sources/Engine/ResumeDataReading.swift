internal import Core
internal import Files
internal import Platform

/// Parsing resume data: no value is accepted that `start` or a server could not have given.
extension ResumeData {
    /// Parses what `encoded` wrote; refuses a text that was changed, or a value beyond its limit.
    ///
    /// Only `isSigned` shows who wrote it.
    package init(_ text: String) throws(ResumeDataError) {
        guard text.hasPrefix("towline-resume-") else { throw ResumeDataError(message: "is not resume data") }
        guard text.hasPrefix(Self.prefix) else { throw ResumeDataError(message: "is of another version") }
        let bytes = Array(text.utf8)
        guard let whole = Self.split(bytes[...], at: Self.digestName), sha256(Array(whole.text)) == whole.code else {
            throw ResumeDataError(message: "is damaged: pass it unchanged, as it was exported")
        }
        let signed = Self.split(whole.text, at: Self.macName)
        let values = Values(signed?.text ?? whole.text)
        guard let url = values[.url] else { throw ResumeDataError(message: "contains no URL") }
        guard url.utf8.count <= Limits.urlByteCount else {
            throw .outside(.url, "expected at most \(Limits.urlByteCount) bytes")
        }
        self.url = url
        isURLWhole = values[.urlWhole] == "1"
        path = try values.path(.path)
        directory = try values.path(.directory)
        options = try values.options()
        suggestedFileName = values[.name].map { FileName.sanitized($0) }
        entity = try values.entity()
        held = try values.held(total: entity?.totalByteCount)
        if let signed { signature = Signature(text: Array(signed.text), mac: signed.code) }
    }

    /// Splits off the code of hexadecimal digits at the end of the text.
    private static func split(_ bytes: ArraySlice<UInt8>, at name: String) -> (text: ArraySlice<UInt8>, code: String)? {
        let code = bytes.suffix(hexDigitCount)
        let rest = bytes.dropLast(hexDigitCount)
        guard code.count == hexDigitCount, rest.suffix(name.utf8.count).elementsEqual(name.utf8) else { return nil }
        return (rest.dropLast(name.utf8.count), String(decoding: code, as: UTF8.self))
    }
}

extension ResumeDataError {
    fileprivate static func outside(_ name: ResumeData.Name, _ problem: String) -> ResumeDataError {
        ResumeDataError(message: "\(name.rawValue): \(problem)")
    }
}

/// The values of a text, by name.
private struct Values {
    private var values: [ResumeData.Name: String] = [:]

    init(_ text: ArraySlice<UInt8>) {
        let pairs = text.dropFirst(ResumeData.prefix.utf8.count)
        for pair in String(decoding: pairs, as: UTF8.self).split(separator: "&") {
            guard let equals = pair.firstIndex(of: "="), let name = ResumeData.Name(rawValue: String(pair[..<equals]))
            else { continue }
            values[name] = String(decoding: PercentEncoding.decode(pair[pair.index(after: equals)...]), as: UTF8.self)
        }
    }

    subscript(name: ResumeData.Name) -> String? { values[name] }

    func path(_ name: ResumeData.Name) throws(ResumeDataError) -> String? {
        guard let path = values[name] else { return nil }
        guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count <= Limits.pathByteCount, !path.utf8.contains(0)
        else {
            throw .outside(name, "expected an absolute path of at most \(Limits.pathByteCount) bytes")
        }
        return path
    }

    func options() throws(ResumeDataError) -> DownloadOptions {
        var options: DownloadOptions
        do throws(OptionsText.Violation) {
            options = try OptionsText.read(values[.options] ?? "")
        } catch {
            throw ResumeDataError(message: "\(error.name.rawValue): \(error.problem)")
        }
        options.ifExists = values[.ifExists].flatMap { IfExists(rawValue: $0) } ?? .error
        options.priority = try integer(.priority, Limits.priority) ?? 0
        guard let text = values[.checksum] else { return options }
        let parts = text.split(separator: ":")
        guard parts.count == 2, let algorithm = Checksum.Algorithm(rawValue: String(parts[0])),
            parts[1].utf8.count == algorithm.hexDigitCount, parts[1].allSatisfy(\.isHexDigit)
        else { throw .outside(.checksum, "expected an algorithm and as many digits as it has") }
        options.checksum = Checksum(algorithm: algorithm, value: parts[1].lowercased())
        return options
    }

    func entity() throws(ResumeDataError) -> Entity? {
        guard let http11 = values[.http11] else { return nil }
        return Entity(
            totalByteCount: try integer(.total, 0...Limits.fileByteCount),
            etag: try field(.etag),
            lastModified: try field(.lastModified),
            date: try field(.date),
            contentType: try field(.type),
            contentEncoding: try field(.encoding),
            isLastModifiedStrong: values[.lastModifiedStrong] == "1",
            isHTTP11: http11 == "1",
            refusesRanges: values[.refusesRanges] == "1"
        )
    }

    func held(total: Int64?) throws(ResumeDataError) -> ResumeData.Held? {
        guard let path = try path(.partial) else { return nil }
        guard path.hasSuffix(FileName.partialSuffix) else {
            throw .outside(.partial, "expected a name that ends in \(FileName.partialSuffix)")
        }
        let birth = try integer(.birth, Int64.min...Int64.max)
        guard let device = values[.device].flatMap({ UInt64($0) }), let inode = values[.inode].flatMap({ UInt64($0) }),
            let birth
        else { throw .outside(.inode, "expected the numbers that identify the partial file") }
        return ResumeData.Held(
            path: path,
            identity: FileIdentity(device: device, inode: inode),
            birthNanoseconds: birth,
            durable: try ranges(.durable, total: total),
            written: try ranges(.written, total: total),
            bootID: values[.boot] ?? "",
            mountID: try integer(.mount, Int64.min...Int64.max)
        )
    }

    private func integer(_ name: ResumeData.Name, _ limits: ClosedRange<Int64>) throws(ResumeDataError) -> Int64? {
        guard let text = values[name] else { return nil }
        guard let number = Int64(text), limits.contains(number) else {
            throw .outside(name, "expected \(limits.lowerBound) to \(limits.upperBound)")
        }
        return number
    }

    /// A header field value, if it is within the limit.
    private func field(_ name: ResumeData.Name) throws(ResumeDataError) -> String? {
        guard let text = values[name] else { return nil }
        guard text.utf8.count <= Limits.entityFieldByteCount, HTTPGrammar.isFieldValue(text) else {
            throw .outside(
                name, "expected at most \(Limits.entityFieldByteCount) bytes without control characters")
        }
        return text
    }

    private func ranges(_ name: ResumeData.Name, total: Int64?) throws(ResumeDataError) -> ByteRangeSet {
        let limit = total ?? Limits.fileByteCount
        var ranges = ByteRangeSet()
        for part in (values[name] ?? "").split(separator: ",") {
            let bounds = part.split(separator: "-", omittingEmptySubsequences: false).compactMap { Int64($0) }
            guard bounds.count == 2, let range = ByteRange(bounds[0], bounds[1]), range.upperBound <= limit else {
                throw .outside(name, "expected ranges within 0 to \(limit)")
            }
            ranges.insert(range)
        }
        return ranges
    }
}
