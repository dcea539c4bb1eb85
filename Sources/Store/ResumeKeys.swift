internal import Glibc
internal import Platform

/// The secret with which this user's processes on this machine sign resume data.  Isolation: the store thread.
///
/// It is stored where all of them find it. If that place cannot be used, it is stored in the state directory: then only
/// processes of that directory recognize its texts.
struct ResumeKeys: Sendable {
    static let byteCount = 32

    /// Where a key may be stored, the best place first.
    let paths: [String]

    /// The keys that exist.
    func existing() -> [[UInt8]] { paths.compactMap { Self.read($0) } }

    /// The key of the best place that has one or can store one; empty if there is no such place.
    func made() -> [[UInt8]] {
        for path in paths {
            if let key = Self.read(path) ?? Self.make(path) { return [key] }
        }
        return []
    }

    /// Nil unless it is a file of ours that nobody else can have written or read.
    private static func read(_ path: String) -> [UInt8]? {
        // Checked before it is opened, because opening a device may have effects.
        guard let found = try? FileStatus(path: path), found.isKey,
            let file = try? FileDescriptor(open: path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), status.isKey,
            let bytes = try? file.read(count: byteCount, at: 0), bytes.count == byteCount
        else { return nil }
        return bytes
    }

    /// Makes a key, unless another process was faster: then that key is used.
    private static func make(_ path: String) -> [UInt8]? {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        guard (try? makeDirectories(directory, mode: 0o700)) != nil, let key = try? randomBytes(count: byteCount),
            let suffix = try? randomBytes(count: 8)
        else { return nil }
        let temporary = path + "." + suffix.map { String($0, radix: 16) }.joined()
        // The rename makes the key appear complete or not at all, also after a power cut.
        do throws(Errno) {
            try write(key, to: temporary)
            try renameExclusively(Place(path: temporary), to: Place(path: path))
        } catch {
            try? removeFile(temporary)
        }
        if let file = try? FileDescriptor(open: directory, flags: O_RDONLY | O_DIRECTORY) { try? file.synchronize() }
        return read(path)
    }

    private static func write(_ key: [UInt8], to path: String) throws(Errno) {
        let file = try FileDescriptor(open: path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        // Safety: the span lives for the call, which only reads it; bytes have no padding.
        try unsafe file.write(key.span.bytes, at: 0)
        try file.synchronize()
    }
}

extension FileStatus {
    fileprivate var isKey: Bool {
        kind == .regular && linkCount == 1 && userID == geteuid() && mode & 0o077 == 0
            && byteCount == Int64(ResumeKeys.byteCount)
    }
}
