internal import Glibc
package import Platform

/// A new, empty directory; it is removed with its contents with the last reference.
package final class TemporaryDirectory: Sendable {
    /// Absolute, without a slash at its end.
    package let path: String

    /// - Parameter parent: where to create it; by default `TMPDIR`, else `/tmp`.
    package init(in parent: String? = nil) throws(Errno) {
        let parent = parent ?? environmentVariable("TMPDIR") ?? "/tmp"
        var template = Array("\(parent)/towline-test-XXXXXX".utf8CString)
        let isMade = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) } != nil
        }
        if !isMade { throw .current }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    /// The path of a name in it.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// The sorted names in it.
    package func entries() throws(Errno) -> [String] { try directoryEntries(path).sorted() }

    private static func remove(_ path: String) {
        // The status of a link itself: its target is not ours to remove.
        guard let status = try? FileStatus(path: path) else { return }
        guard status.kind == .directory else {
            _ = unlink(path)
            return
        }
        _ = chmod(path, 0o700)
        for name in (try? directoryEntries(path)) ?? [] { remove("\(path)/\(name)") }
        _ = rmdir(path)
    }
}
