extension String {
    /// The longest name that file systems take, in bytes.
    private static var nameLimitByteCount: Int { 255 }

    /// The path with a number before the last name's extension: `a/b.tar` becomes `a/b (1).tar`.
    ///
    /// The part before the number gives way, at a character's edge, where the name would become too long.
    func numbered(_ number: Int) -> String {
        let nameStart = utf8.lastIndex(of: UInt8(ascii: "/")).map { utf8.index(after: $0) } ?? startIndex
        let name = self[nameStart...]
        var end = name.endIndex
        // A dot in front makes a hidden file, not an extension.
        if let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > nameStart { end = dot }
        let suffix = " (\(number))" + name[end...]
        var stem = name[..<end]
        while !stem.isEmpty && stem.utf8.count + suffix.utf8.count > Self.nameLimitByteCount {
            stem = stem.dropLast()
        }
        return self[..<nameStart] + stem + suffix
    }
}
