import Foundation
import Platform
import Testing

@Suite struct FileDescriptorTests {
    @Test func `bytes land at their offsets and reads stop at the end`() throws {
        try withTemporaryDirectory { directory in
            let file = try FileDescriptor(open: directory + "/f", flags: O_RDWR | O_CREAT)
            try file.write("world".utf8Span.span.bytes, at: 6)
            try file.write("hello ".utf8Span.span.bytes, at: 0)
            #expect(try file.read(count: 100, at: 0) == Array("hello world".utf8))
            #expect(try file.read(count: 5, at: 6) == Array("world".utf8))
            #expect(try file.read(count: 5, at: 11).isEmpty)
            var buffer = [UInt8](repeating: 0, count: 8)
            #expect(try file.read(into: &buffer, at: 6) == 5)
            #expect(buffer.prefix(5).elementsEqual("world".utf8))
            try file.truncate(to: 5)
            #expect(try file.status().byteCount == 5)
        }
    }

    @Test func `flushes of data, file, file system and directory succeed`() throws {
        try withTemporaryDirectory { directory in
            let file = try FileDescriptor(open: directory + "/f", flags: O_RDWR | O_CREAT)
            try file.write("data".utf8Span.span.bytes, at: 0)
            file.startWriteback()
            try file.waitForWriteback()
            try file.synchronizeData()
            try file.synchronize()
            try file.synchronizeFileSystem()
            try FileDescriptor(open: directory, flags: O_RDONLY | O_DIRECTORY).synchronize()
        }
    }

    @Test func `a descriptor that does not fit the call throws its errno`() throws {
        try withTemporaryDirectory { directory in
            try put("data", at: directory + "/f")
            let readOnly = try FileDescriptor(open: directory + "/f", flags: O_RDONLY)
            #expect(throws: Errno.badDescriptor) { try readOnly.write("x".utf8Span.span.bytes, at: 0) }
            let full = try FileDescriptor(open: "/dev/full", flags: O_WRONLY)
            #expect(throws: Errno.noSpace) { try full.write("x".utf8Span.span.bytes, at: 0) }
            #expect(throws: Errno.noEntry) { _ = try FileDescriptor(open: directory + "/none", flags: O_RDONLY) }
            #expect(throws: Errno.loop) {
                #expect(symlink(directory + "/f", directory + "/link") == 0)
                _ = try FileDescriptor(open: directory + "/link", flags: O_RDONLY | O_NOFOLLOW)
            }
        }
    }

    @Test func `a descriptor is closed on exec, and closing it frees its number`() throws {
        try withTemporaryDirectory { directory in
            let file = try FileDescriptor(open: directory + "/f", flags: O_RDWR | O_CREAT)
            let raw = file.raw
            #expect(fcntl(raw, F_GETFD) & FD_CLOEXEC != 0)
            try file.reportCloseError()
            #expect(try file.status().byteCount == 0)
            try file.close()
            // Another test may get the number at once, but not for the same file.
            let inode = try FileStatus(path: directory + "/f").identity
            var status = stat()
            let isOpen = fstat(raw, &status) == 0
            #expect(!isOpen || UInt64(status.st_ino) != inode.inode || UInt64(status.st_dev) != inode.device)
        }
    }

    @Test func `status tells kind, links, owner, mode and identity`() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/f"
            try put("12345", at: path)
            try hardLink(Place(path: path), to: Place(path: directory + "/g"))
            #expect(symlink(path, directory + "/link") == 0)
            #expect(mkfifo(directory + "/fifo", 0o600) == 0)
            let status = try FileStatus(path: path)
            #expect(status.kind == .regular)
            #expect(status.byteCount == 5)
            #expect(status.linkCount == 2)
            #expect(status.userID == geteuid())
            #expect(status.mode & 0o777 == 0o600)
            #expect(try FileStatus(path: directory + "/g").identity == status.identity)
            #expect(try FileStatus(path: directory + "/link").kind == .symbolicLink)
            #expect(try FileStatus(following: directory + "/link") == status)
            #expect(try FileStatus(path: directory + "/fifo").kind == .other)
            #expect(try FileStatus(path: directory).kind == .directory)
        }
    }

    @Test func `reserving room leaves the length alone, and free room and mount are told`() throws {
        try withTemporaryDirectory { directory in
            let file = try FileDescriptor(open: directory + "/f", flags: O_RDWR | O_CREAT)
            do throws(Errno) {
                try file.preallocate(byteCount: 10_000)
                #expect(try file.status().byteCount == 0)
                #expect(try file.status().allocatedByteCount >= 10_000)
            } catch {
                #expect(error == .notSupported)
            }
            try file.setMode(0o640)
            #expect(try file.status().mode & 0o777 == 0o640)
            let told = file.room()
            let room = try #require(told)
            #expect(room.hasFreeInodes)
            #expect((1...room.totalByteCount).contains(room.availableByteCount))
            #expect(file.mountID() != nil)
            #expect(file.fileSystemMagic() != nil)
        }
    }

    @Test func `locks belong to the open file, not to the process`() throws {
        try withTemporaryDirectory { directory in
            let first = try FileDescriptor(open: directory + "/lock", flags: O_RDWR | O_CREAT)
            let second = try FileDescriptor(open: directory + "/lock", flags: O_RDWR)
            #expect(try first.lock(.shared))
            #expect(try second.lock(.shared))
            #expect(try !first.lock(.exclusive))
            #expect(try first.isLockedElsewhere())
            #expect(try second.lock(.none))
            #expect(try !first.isLockedElsewhere())
            #expect(try first.lock(.exclusive))
            #expect(try !second.lock(.shared))
            // Closing another descriptor of the file releases nothing, unlike with a POSIX lock.
            try FileDescriptor(open: directory + "/lock", flags: O_RDWR).close()
            #expect(try second.isLockedElsewhere())
            try first.close()
            #expect(try second.lock(.exclusive, wait: true))
        }
    }
}
