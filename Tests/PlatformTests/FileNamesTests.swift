import Foundation
import Platform
import Testing

@Suite struct FileNamesTests {
    @Test func `an exclusive rename takes a free name only`() throws {
        try withTemporaryDirectory { directory in
            try put("a", at: directory + "/a")
            try put("b", at: directory + "/b")
            #expect(throws: Errno.exists) {
                try renameExclusively(Place(path: directory + "/a"), to: Place(path: directory + "/b"))
            }
            try renameExclusively(Place(path: directory + "/a"), to: Place(path: directory + "/c"))
            try renameReplacing(directory + "/c", to: directory + "/b")
            #expect(try directoryEntries(directory) == ["b"])
            #expect(try readFile(directory + "/b", limitByteCount: 10) == Array("a".utf8))
            try removeFile(directory + "/b")
            #expect(throws: Errno.noEntry) { try removeFile(directory + "/b") }
        }
    }

    @Test(arguments: ["x/y/z", "x//y/z/", "x", "./x/../x/y"])
    func `missing directories are made and existing ones are fine`(path: String) throws {
        try withTemporaryDirectory { directory in
            for _ in 0..<2 { try makeDirectories(directory + "/" + path, mode: 0o700) }
            let status = try FileStatus(path: directory + "/" + path)
            #expect(status.kind == .directory)
            #expect(status.mode & 0o777 == 0o700)
        }
    }

    @Test func `a file in the way of a directory is told`() throws {
        try withTemporaryDirectory { directory in
            try put("", at: directory + "/f")
            #expect(throws: Errno.notDirectory) { try makeDirectory(directory + "/f", mode: 0o700) }
            #expect(throws: Errno.notDirectory) { try makeDirectories(directory + "/f/g", mode: 0o700) }
        }
    }

    @Test func `a directory's entries leave out the dots`() throws {
        try withTemporaryDirectory { directory in
            #expect(try directoryEntries(directory).isEmpty)
            let names = (0..<300).map { "name \($0) é" }
            for name in names { try put("", at: directory + "/" + name) }
            #expect(try Set(directoryEntries(directory)) == Set(names))
            #expect(throws: Errno.noEntry) { try directoryEntries(directory + "/none") }
            #expect(throws: Errno.notDirectory) { try directoryEntries(directory + "/" + names[0]) }
        }
    }

    @Test func `a file is read up to the limit`() throws {
        try withTemporaryDirectory { directory in
            try put("12345", at: directory + "/f")
            #expect(try readFile(directory + "/f", limitByteCount: 3) == Array("123".utf8))
            #expect(try readFile(directory + "/f", limitByteCount: 9) == Array("12345".utf8))
        }
    }

    @Test func `a directory may be written to, a missing one may not`() throws {
        try withTemporaryDirectory { directory in
            #expect(throws: Never.self) { try checkWritable(directory: Place(path: directory)) }
            #expect(throws: Errno.noEntry) { try checkWritable(directory: Place(path: directory + "/none")) }
        }
    }

    @Test func `the process's surroundings are what the system says`() throws {
        #expect(try currentDirectory() == FileManager.default.currentDirectoryPath)
        #expect(environmentVariable("PATH") == ProcessInfo.processInfo.environment["PATH"])
        #expect(environmentVariable("TOWLINE_TESTS_SET_NO_SUCH_VARIABLE") == nil)
        #expect(homeDirectoryFromUserDatabase()?.hasPrefix("/") == true)
        try withTemporaryDirectory { directory in
            // The mode of a new file is the only other way to see the mask without changing it.
            let file = try FileDescriptor(open: directory + "/f", flags: O_RDWR | O_CREAT, mode: 0o666)
            #expect(try file.status().mode & 0o777 == 0o666 & ~fileModeMask())
        }
    }
}
