internal import Core

extension String {
    /// The longest name that file systems allow, in bytes.
    private static var nameLimitByteCount: Int { 255 }

    /// The path with a number before the last name's extension: `a/b.tar.gz` becomes `a/b (1).tar.gz`.
    ///
    /// The part before the number is cut if the name would become too long.
    func numbered(_ number: Int) -> String {
        let nameStart = utf8.lastIndex(of: UInt8(ascii: "/")).map { utf8.index(after: $0) } ?? startIndex
        let name = FileName.numbered(String(self[nameStart...]), number, byteCount: Self.nameLimitByteCount)
        return self[..<nameStart] + name
    }
}
