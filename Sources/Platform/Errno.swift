internal import Glibc

/// A failed system call's error number.
package struct Errno: Error, Equatable, Hashable, Sendable {
    package let code: Int32

    package init(code: Int32) {
        self.code = code
    }

    /// The calling thread's `errno`; read it at once after the failing call.
    package static var current: Errno { Errno(code: errno) }

    package static let accessDenied = Errno(code: EACCES)
    package static let badDescriptor = Errno(code: EBADF)
    package static let crossDevice = Errno(code: EXDEV)
    package static let exists = Errno(code: EEXIST)
    package static let fileTooLarge = Errno(code: EFBIG)
    package static let inputOutput = Errno(code: EIO)
    package static let invalidArgument = Errno(code: EINVAL)
    package static let isDirectory = Errno(code: EISDIR)
    package static let loop = Errno(code: ELOOP)
    package static let nameTooLong = Errno(code: ENAMETOOLONG)
    package static let noLocks = Errno(code: ENOLCK)
    package static let noEntry = Errno(code: ENOENT)
    package static let noSpace = Errno(code: ENOSPC)
    package static let notDirectory = Errno(code: ENOTDIR)
    package static let notPermitted = Errno(code: EPERM)
    package static let notSupported = Errno(code: EOPNOTSUPP)
    package static let pipe = Errno(code: EPIPE)
    package static let quotaExceeded = Errno(code: EDQUOT)
    package static let readOnly = Errno(code: EROFS)
    package static let stale = Errno(code: ESTALE)
    package static let tooManyFiles = Errno(code: EMFILE)
    package static let tooManyFilesInSystem = Errno(code: ENFILE)
    package static let wouldBlock = Errno(code: EAGAIN)

    /// The process, or the system, has no descriptor left.
    package var isDescriptorShortage: Bool { self == .tooManyFiles || self == .tooManyFilesInSystem }

    /// The system's text for the code, in the C locale.  C: strerror_r(3)
    package var message: String {
        var text = [CChar](repeating: 0, count: 128)
        // The XSI strerror_r that Swift's Glibc shows fills the buffer and returns 0.
        _ = unsafe text.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe strerror_r(code, $0, buffer.count) }
        }
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? "error \(code)" : String(decoding: bytes, as: UTF8.self)
    }
}

/// Repeats a call that a signal interrupted; throws any other error.
///
/// - Parameter body: returns a negative number on failure and leaves the reason in `errno`.
package func valueOrErrno<Value: FixedWidthInteger & SignedInteger>(_ body: () -> Value) throws(Errno) -> Value {
    while true {
        let value = body()
        if value >= 0 { return value }
        let error = Errno.current
        if error.code != EINTR { throw error }
    }
}
