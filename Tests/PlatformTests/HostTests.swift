import Foundation
import Platform
import Testing

@Suite struct HostTests {
    @Test func `the boot id is a UUID and stays the same`() throws {
        #expect(UUID(uuidString: bootID()) != nil)
        #expect(bootID() == bootID())
    }

    @Test func `random bytes come in the number asked for and are not alike`() throws {
        #expect(try randomBytes(count: 0).isEmpty)
        let first = try randomBytes(count: 32)
        #expect(first.count == 32)
        #expect(try first != randomBytes(count: 32))
    }

    @Test func `the process uses memory`() {
        #expect(residentKibibytes() > 0)
    }

    @Test func `the steady clock does not run backwards and the wall clock is of this century`() {
        let first = monotonicNanoseconds()
        #expect(monotonicNanoseconds() >= first)
        #expect(unixMilliseconds() > 1_700_000_000_000)
    }

    @Test(arguments: [(ENOENT, "No such file or directory"), (ENOSPC, "No space left on device")])
    func `an error number has the system's text`(code: Int32, text: String) {
        #expect(Errno(code: code).message == text)
    }

    @Test func `an interrupted call is made again, another failure is thrown`() throws {
        var errors = [EINTR, EINTR, 0]
        let value: Int32 = try valueOrErrno {
            errno = errors.removeFirst()
            return errno == 0 ? 7 : -1
        }
        #expect(value == 7)
        #expect(errors.isEmpty)
        #expect(throws: Errno.inputOutput) {
            _ = try valueOrErrno { () -> Int32 in
                errno = EIO
                return -1
            }
        }
    }
}
