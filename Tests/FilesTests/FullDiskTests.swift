import Core
import Files
import Glibc
import Platform
import Testing

/// These tests mount a small file system of their own; where that is not allowed they are skipped.
@Suite(.enabled(if: mayMount, "only root may mount the small file system that this fills"), .serialized)
struct FullDiskTests {
    @Test func `no room to reserve is told before a byte is fetched and leaves nothing behind`() throws {
        try withFileSystem(options: "size=1m") { shop in
            let job = FileJob.createPartial(path: shop.path("big.towline"), expectedByteCount: 8 << 20)
            let error = try shop.run(job, volume: shop.volume).error()
            #expect(error == FileError(.reserve, shop.path("big.towline"), .system(.noSpace)))
            #expect(error.downloadFailure.kind == .diskFull)
            #expect(error.downloadFailure.isRetryable)
            #expect(try shop.names.isEmpty)
        }
    }

    @Test func `a write that finds no room poisons the file, and it can go on when there is room`() throws {
        try withFileSystem(options: "size=1m") { shop in
            let file = try shop.create("big.towline")
            try shop.put(String(repeating: "x", count: 500_000), at: "hog")
            let given = buffer([UInt8](repeating: 7, count: 1_000_000))
            let result = try shop.result(shop.submit(.write(file, given, offset: 0, mark: nil)))
            #expect(try result.outcome.error().errno == .noSpace)
            #expect(result.buffer === given)
            #expect(try shop.run(.write(file, buffer("x"), offset: 0, mark: nil)).error().errno == .noSpace)

            try removeFile(shop.path("hog"))
            _ = try shop.run(.close(file))
            let again = try shop.run(.openPartial(path: file.path, expected: file.identity)).opened()
            #expect(again.pendingError == nil)
            #expect(try shop.run(.write(again.file, given, offset: 0, mark: nil)).isWritten)
        }
    }

    @Test func `a small file that does not fit is not left behind`() throws {
        try withFileSystem(options: "size=64k") { shop in
            let given = buffer([UInt8](repeating: 1, count: 1 << 20))
            let ticket = shop.submit(.writeSmall(path: shop.path("s.towline"), given), volume: try shop.volume)
            let result = try shop.result(ticket)
            #expect(try result.outcome.error().errno == .noSpace)
            #expect(result.buffer === given)
            #expect(try shop.names.isEmpty)
        }
    }

    @Test func `a file system mounted read-only is not writable`() throws {
        try withFileSystem(options: "size=1m,ro") { shop in
            let status = try shop.run(.inspect(directory: shop.directory, name: "f", partialName: nil)).inspected()
            #expect(!status.isWritable)
            let job = FileJob.createPartial(path: shop.path("f.towline"), expectedByteCount: nil)
            let failure = try shop.run(job, volume: shop.volume).error().downloadFailure
            #expect(failure.kind == .io)
            #expect(!failure.isRetryable)
        }
    }

    @Test func `free room is what the file system says, and a hundredth of it is not for us`() throws {
        try withFileSystem(options: "size=1m") { shop in
            let status = try shop.run(.inspect(directory: shop.directory, name: nil, partialName: nil)).inspected()
            #expect(status.availableByteCount == 1 << 20)
            let spare: Int64 = 1_048_576 - 10_485
            #expect(status.spareByteCount == spare)
        }
    }

    @Test func `without a free inode there is no room for another file`() throws {
        try withFileSystem(options: "size=1m,nr_inodes=2") { shop in
            try shop.put("x", at: "last")
            let status = try shop.run(.inspect(directory: shop.directory, name: nil, partialName: nil)).inspected()
            #expect((status.availableByteCount ?? 0) > 500_000)
            #expect(status.spareByteCount == 0)
        }
    }

    @Test(arguments: [100_000, nil] as [Int64?])
    func `the volume's floor is left free, whether the length is known or not`(expected: Int64?) throws {
        try withFileSystem(options: "size=8m") { shop in
            // 80 KiB are the floor: 60 KiB are free, but not available to us.
            try shop.put(String(repeating: "x", count: (8 << 20) - (60 << 10)), at: "hog")
            let create = FileJob.createPartial(path: shop.path("f.towline"), expectedByteCount: expected)
            let outcome = try shop.run(create, volume: shop.volume)
            if expected != nil {
                #expect(try outcome.error() == FileError(.reserve, shop.path("f.towline"), .system(.noSpace)))
                #expect(try shop.names == ["hog"])
            } else {
                let file = try outcome.opened().file
                #expect(try shop.run(.write(file, buffer("x"), offset: 0, mark: nil)).error().errno == .noSpace)
            }
            let ticket = shop.submit(.writeSmall(path: shop.path("s"), buffer("x")), volume: try shop.volume)
            let small = try shop.result(ticket)
            #expect(try small.outcome.error().errno == .noSpace)
        }
    }

    @Test func `a growing file of unknown length stops at the floor`() throws {
        try withFileSystem(options: "size=8m") { shop in
            let file = try shop.create("f.towline")
            let piece = [UInt8](repeating: 7, count: 128 << 10)
            var written: Int64 = 0
            var outcome = try shop.run(.write(file, buffer(piece), offset: written, mark: nil))
            while outcome.isWritten, written < 8 << 20 {
                written += Int64(piece.count)
                outcome = try shop.run(.write(file, buffer(piece), offset: written, mark: nil))
            }
            #expect(try outcome.error().errno == .noSpace)
            #expect(written >= (8 << 20) - (80 << 10) - (128 << 10))
            let status = try shop.run(.inspect(directory: shop.directory, name: nil, partialName: nil)).inspected()
            #expect((status.spareByteCount ?? -1) >= 0)
        }
    }

    @Test func `what is reserved can be written on a disk that has been filled since`() throws {
        try withFileSystem(options: "size=8m") { shop in
            let file = try shop.create("f.towline", expectedByteCount: 1 << 20)
            let late = try shop.create("late.towline")
            #expect(try shop.run(.reserve(late, byteCount: 2 << 20)).isReserved)
            try shop.fill("hog")
            let megabyte = buffer([UInt8](repeating: 7, count: 1 << 20))
            #expect(try shop.run(.write(file, megabyte, offset: 0, mark: nil)).isWritten)
            #expect(try shop.run(.write(late, megabyte, offset: 1 << 20, mark: nil)).isWritten)
            // After truncation it has no reserved space left, and there is no free space.
            #expect(try shop.run(.reserve(late, byteCount: 4 << 20)).error().errno == .noSpace)
            guard case .truncated = try shop.run(.truncate(late, to: 0)) else {
                Issue.record("not truncated")
                return
            }
            #expect(late.reservedByteCount == 0)
        }
    }

    @Test func `files go to the lanes of their volume, and those of many volumes all work`() throws {
        try withWorkshop { shop in
            let count = FileWorkers.volumeLimit + 3
            let mounts = (0..<count).map { shop.path("v\($0)") }
            defer { for path in mounts { _ = umount2(path, Int32(MNT_DETACH)) } }
            for mount in mounts {
                try makeDirectory(mount, mode: 0o700)
                try #require(Glibc.mount("tmpfs", mount, "tmpfs", 0, "size=64k") == 0)
            }
            var files: [OpenFile] = []
            for mount in mounts {
                let volume = VolumeID(try FileStatus(following: mount).identity)
                let job = FileJob.createPartial(path: mount + "/f", expectedByteCount: 100)
                files.append(try shop.run(job, volume: volume).opened().file)
            }
            #expect(Set(files.map(\.volume)).count == count)
            let tickets = files.map { shop.submit(.write($0, buffer("ok"), offset: 0, mark: nil)) }
            for ticket in tickets { #expect(try shop.result(ticket).outcome.isWritten) }
            let syncs = files.map { shop.submit(.checkpoint($0)) }
            for ticket in syncs { #expect(try shop.result(ticket).outcome.isSynchronized) }
            for file in files { #expect(try shop.run(.close(file)).isClosed) }
        }
    }
}
