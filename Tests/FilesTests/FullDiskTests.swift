import Core
import Files
import Glibc
import Platform
import Testing

/// These mount a small file system of their own; where that is not allowed they are shown as skipped.
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
            let megabyte = [UInt8](repeating: 7, count: 1 << 20)
            try shop.put(String(repeating: "x", count: 500_000), at: "hog")
            let given = buffer(megabyte)
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
            #expect(failure.kind == .permissionDenied)
            #expect(!failure.isRetryable)
        }
    }

    @Test func `free room is what the file system says`() throws {
        try withFileSystem(options: "size=1m") { shop in
            let status = try shop.run(.inspect(directory: shop.directory, name: nil, partialName: nil)).inspected()
            #expect(status.availableByteCount == 1 << 20)
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
