import Core
import Files
import Glibc
import Platform
import Testing

@Suite struct FileErrorTests {
    @Test(arguments: [
        (ENOSPC, FailureKind.diskFull, true), (EDQUOT, .diskFull, true), (EIO, .io, false),
        (EROFS, .io, false), (EACCES, .permissionDenied, false), (EPERM, .permissionDenied, false),
        (EXDEV, .io, false), (EMFILE, .io, true), (ENFILE, .io, true), (ESTALE, .io, true),
        (EFBIG, .fileTooLarge, false), (ENOENT, .destinationGone, false), (ENOTDIR, .destinationGone, false),
        (EISDIR, .destinationConflict, false), (ENAMETOOLONG, .io, false),
    ])
    func `each error number has its kind, and names the path`(code: Int32, kind: FailureKind, isRetryable: Bool) {
        let failure = FileError(.write, "/d/f.towline", .system(Errno(code: code))).downloadFailure
        #expect(failure.kind == kind)
        #expect(failure.isRetryable == isRetryable)
        #expect(failure.errno == Int(code))
        #expect(failure.message == "cannot write to /d/f.towline: \(Errno(code: code).message)")
    }

    @Test func `what is too long is named with its limit`() {
        let failure = FileError(.inspect, "/d/f", .tooLong(.name, maximum: 143)).downloadFailure
        #expect(failure.kind == .io && !failure.isRetryable && failure.errno == Int(ENAMETOOLONG))
        #expect(failure.message == "cannot check /d/f: the name is longer than 143 bytes")
    }

    @Test(arguments: [
        (FileError.Reason.replaced, FailureKind.partialReplaced, false), (.exists, .destinationConflict, false),
        (.canceled, .internal, true), (.stopped, .internal, true), (.digestUnavailable, .internal, false),
    ])
    func `each reason of ours has its kind`(reason: FileError.Reason, kind: FailureKind, isRetryable: Bool) {
        let failure = FileError(.publish, "/d/f", reason).downloadFailure
        #expect(failure.kind == kind)
        #expect(failure.isRetryable == isRetryable)
        #expect(failure.errno == nil)
        #expect(failure.message.hasPrefix("cannot move into place /d/f: "))
    }
}
