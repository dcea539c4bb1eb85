/// Chooses a file name from the server's response, and makes it safe on every system.
package enum FileName {
    /// A partial's name is the file's name with this suffix.
    package static let partialSuffix = ".towline"
    private static let fallback = "download"
    private static let substitute: Unicode.Scalar = "_"
    /// A longer suffix after the last dot is not an extension.
    private static let extensionByteCount = 16

    /// The name from `Content-Disposition`, else from the last segment of the URL's path, else `download`; sanitised.
    ///
    /// `urlPath` is the percent-encoded path of the final URL.
    package static func suggested(contentDisposition: String?, urlPath: String) -> String {
        suggested(given: contentDisposition.flatMap { ContentDisposition.fileName($0) }, urlPath: urlPath)
    }

    /// The same, with `given` as the name from `Content-Disposition`.
    package static func suggested(given: String?, urlPath: String) -> String {
        if let safe = given.flatMap(component) { return safe }
        let segment = urlPath.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
        guard let segment else { return fallback }
        return component(PercentEncoding.text(PercentEncoding.decode(Substring(segment)))) ?? fallback
    }

    /// The last component of the text, sanitised: without separators, control and direction characters, names that
    /// Windows reserves, a leading dot or hyphen, or bytes beyond the limit; `download` when nothing is left.
    package static func sanitized(_ text: String) -> String { component(text) ?? fallback }

    /// The name with a number before its extension, `name (1).ext` or `name (1).tar.gz`, within the limit.
    package static func numbered(_ name: String, _ number: Int) -> String {
        numbered(name, number, byteCount: Limits.fileNameByteCount - partialSuffix.utf8.count)
    }

    /// The same, with at most `byteCount` bytes.
    package static func numbered(_ name: String, _ number: Int, byteCount: Int) -> String {
        let (stem, suffix) = split(name)
        return fitted(stem: stem, suffix: " (\(number))" + suffix, limit: byteCount + partialSuffix.utf8.count)
    }

    /// The name, cut before its extension so that it has at most `limit` bytes together with the partial's suffix.
    package static func shortened(_ name: String, toByteCount limit: Int) -> String {
        let (stem, suffix) = split(name)
        return fitted(stem: stem, suffix: suffix, limit: limit)
    }

    private static func component(_ text: String) -> String? {
        let last = text.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last
        guard let last else { return nil }
        var scalars = Array(last.map { isUnwanted($0) ? substitute : $0 })
        while let scalar = scalars.first, isBlank(scalar) { scalars.removeFirst() }
        while let scalar = scalars.last, isBlank(scalar) || scalar == "." { scalars.removeLast() }
        guard let first = scalars.first else { return nil }
        if first == "." { scalars[0] = substitute }
        // `rm *` would take it for an option.
        if first == "-" { scalars.insert(substitute, at: 0) }

        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        var name = String(view)
        if isReservedOnWindows(name) { name = "_" + name }
        if launches.contains(where: { hasSuffixIgnoringCase(name, $0) }) { name += ".download" }
        let (stem, suffix) = split(name)
        return fitted(stem: stem, suffix: suffix)
    }

    /// Cuts the stem at a scalar boundary so that it fits with `suffix` and the partial's suffix.
    private static func fitted(stem: String, suffix: String, limit: Int = Limits.fileNameByteCount) -> String {
        let room = limit - partialSuffix.utf8.count - suffix.utf8.count
        var cut = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in stem.unicodeScalars {
            byteCount += UTF8.width(scalar)
            if byteCount > room { break }
            cut.append(scalar)
        }
        // A cut may leave a space at the end, which some systems drop.
        if byteCount > room { while let last = cut.last, isBlank(last) { cut.removeLast() } }
        return String(cut) + suffix
    }

    /// Stem and extension, which includes the dot; `.tar.gz` and similar count as one.
    private static func split(_ name: String) -> (stem: String, suffix: String) {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > bytes.startIndex,
            bytes[dot...].count <= extensionByteCount
        else { return (name, "") }
        var start = dot
        let stem = bytes[..<dot]
        if let inner = stem.lastIndex(of: UInt8(ascii: ".")), inner > bytes.startIndex,
            stem[inner...].map(\.asciiLowercased).elementsEqual(".tar".utf8)
        {
            start = inner
        }
        return (String(name[..<start]), String(name[start...]))
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace }

    private static func isUnwanted(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "<", ">", ":", "\"", "|", "?", "*": return true
        // Joiners are part of words in some scripts, and of emoji.
        case "\u{200c}", "\u{200d}": return false
        default: break
        }
        switch scalar.properties.generalCategory {
        // Some format characters change the direction of text, so that an `.exe` can look like a `.jpg`.
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return true
        default: return scalar.properties.isNoncharacterCodePoint
        }
    }

    /// Extensions that make a desktop run or follow the file.
    private static let launches = [".lnk", ".url", ".scf", ".desktop", ".local"]

    private static let devices: Set<String> = ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    private static let numberedDevices = ["com", "lpt"]
    private static let deviceNumbers: Set<Substring> = [
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³",
    ]

    /// True for a device name with any extension.
    private static func isReservedOnWindows(_ name: String) -> Bool {
        let base = name.utf8.prefix { $0 != UInt8(ascii: ".") }
        let lower = HTTPGrammar.lowercased(HTTPGrammar.trimmedSlice(Substring(base)))
        if devices.contains(lower) { return true }
        return numberedDevices.contains { lower.hasPrefix($0) && deviceNumbers.contains(lower.dropFirst(3)) }
    }

    private static func hasSuffixIgnoringCase(_ name: String, _ suffix: String) -> Bool {
        name.utf8.suffix(suffix.utf8.count).map(\.asciiLowercased).elementsEqual(suffix.utf8)
    }
}
