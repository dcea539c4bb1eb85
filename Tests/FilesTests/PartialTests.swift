import Core
import Files
import Foundation
import Glibc
import Platform
import Testing

/// What another program may have put in place of a partial.
enum Stranger: CaseIterable {
    case symbolicLink
    case danglingLink
    case hardLink
    case fifo
    case directory
    case socket
    case anotherFile

    /// Replaces the partial at the name.
    func replace(_ name: String, in shop: Workshop) throws {
        let path = shop.path(name)
        if self != .hardLink { try removeFile(path) }
        switch self {
        case .symbolicLink:
            try shop.put("precious", at: "precious")
            #expect(symlink(shop.path("precious"), path) == 0)
        case .danglingLink: #expect(symlink(shop.path("nowhere"), path) == 0)
        case .hardLink: try Platform.hardLink(Place(path: path), to: Place(path: shop.path("second name")))
        case .fifo: #expect(mkfifo(path, 0o600) == 0)
        case .directory: try makeDirectory(path, mode: 0o700)
        case .socket:
            let code = mknod(path, S_IFSOCK | 0o600, 0)
            #expect(code == 0)
        case .anotherFile:
            // The old file is kept under another name, so that the new one cannot get its inode number.
            try shop.put("stranger", at: "other")
            try renameReplacing(shop.path("other"), to: path)
        }
    }
}

@Suite struct PartialTests {
    @Test func `a new partial is private, has its room reserved and its identity told`() throws {
        try withWorkshop { shop in
            let job = FileJob.createPartial(path: shop.path("f.towline"), expectedByteCount: 100_000)
            let opened = try shop.run(job, volume: shop.volume).opened()
            #expect(try shop.run(.name(opened.file, path: shop.path("f.towline"))).isNamed)
            let status = try FileStatus(path: shop.path("f.towline"))
            #expect(status.mode & 0o777 == 0o600)
            #expect(status.identity == opened.file.identity)
            #expect(status.byteCount == 0)
            #expect(opened.byteCount == 0)
            // Where the file system can reserve.
            #expect(opened.file.reservedByteCount == 0 || status.allocatedByteCount >= 100_000)
            #expect(opened.file.mountID != nil)
        }
    }

    @Test func `a name that is taken is not touched`() throws {
        try withWorkshop { shop in
            try shop.put("mine", at: "taken")
            #expect(symlink(shop.path("nowhere"), shop.path("link")) == 0)
            for name in ["taken", "link"] {
                let path = shop.path(name)
                let create = FileJob.createPartial(path: path, expectedByteCount: nil)
                #expect(try shop.run(create).error() == FileError(.create, path, .exists))
                let small = FileJob.writeSmall(path: path, buffer("theirs"))
                #expect(try shop.run(small).error() == FileError(.create, path, .exists))
            }
            #expect(try shop.contents("taken") == "mine")
            #expect(try shop.names == ["link", "taken"])
        }
    }

    @Test func `a partial opens again with its identity and length`() throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "12345")
            #expect(try shop.run(.close(file)).isClosed)
            for volume in [nil, try shop.volume] {
                let job = FileJob.openPartial(path: file.path, expected: file.identity)
                let opened = try shop.run(job, volume: volume).opened()
                #expect(opened.byteCount == 5)
                #expect(opened.pendingError == nil)
                #expect(opened.file.identity == file.identity)
                // It is closed only after the worker has released it too.
                #expect(try shop.run(.close(opened.file)).isClosed)
            }
        }
    }

    @Test func `a partial opens again and is discarded when its device has got another number`() throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "12345")
            #expect(try shop.run(.close(file)).isClosed)
            let before = FileIdentity(device: file.identity.device &+ 1, inode: file.identity.inode)
            let opened = try shop.run(.openPartial(path: file.path, expected: before)).opened()
            #expect(opened.file.identity == file.identity)
            #expect(try shop.run(.discard(path: file.path, identity: before)).removed() == .removed)
        }
    }

    @Test(.enabled(if: mayMount && areMountsUnique))
    func `a volume that was away is another mount when it is back`() throws {
        try withWorkshop { shop in
            let ids = try (0..<8).map { _ throws in
                try #require(mount("tmpfs", shop.directory, "tmpfs", 0, "size=64k") == 0)
                defer { _ = umount2(shop.directory, 0) }
                return try FileDescriptor(open: shop.directory, flags: O_RDONLY).mountID()
            }
            #expect(Set(ids).count == 8 && !ids.contains(nil))
        }
    }

    @Test(arguments: Stranger.allCases)
    func `a stranger at the partial's name is neither opened nor waited for`(stranger: Stranger) throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "12345")
            try stranger.replace("f.towline", in: shop)
            let job = FileJob.openPartial(path: file.path, expected: file.identity)
            #expect(try shop.run(job).error() == FileError(.open, file.path, .replaced))
            // Without an expected identity only another regular file may pass.
            let anyFile = try shop.run(.openPartial(path: file.path, expected: nil))
            if stranger == .anotherFile {
                #expect(try anyFile.opened().byteCount == 8)
            } else {
                #expect(try anyFile.error().reason == .replaced)
            }
        }
    }

    @Test(arguments: [nil, "1"] as [String?])
    func `a partial that is gone is told apart from one that was replaced`(expected: String?) throws {
        try withWorkshop { shop in
            let identity = expected.map { _ in FileIdentity(device: 1, inode: 1) }
            let error = try shop.run(.openPartial(path: shop.path("none"), expected: identity)).error()
            #expect(error.errno == .noEntry)
        }
    }

    @Test func `a small file is made and written in one go`() throws {
        try withWorkshop { shop in
            let given = buffer("small")
            let ticket = shop.submit(.writeSmall(path: shop.path("s.towline"), given), volume: try shop.volume)
            let result = try shop.result(ticket)
            let opened = try result.outcome.opened()
            #expect(result.buffer === given)
            #expect(opened.byteCount == 5)
            #expect(try shop.run(.name(opened.file, path: shop.path("s.towline"))).isNamed)
            #expect(try FileStatus(path: shop.path("s.towline")).identity == opened.file.identity)
            #expect(try shop.contents("s.towline") == "small")
        }
    }

    @Test func `a name too long and a missing directory are told`() throws {
        try withWorkshop { shop in
            let long = String(repeating: "n", count: 256)
            let tooLong = FileJob.createPartial(path: shop.path(long), expectedByteCount: nil)
            #expect(try shop.run(tooLong).error().errno == .nameTooLong)
            let gone = FileJob.createPartial(path: shop.path("gone/f"), expectedByteCount: nil)
            let failure = try shop.run(gone).error().downloadFailure
            #expect(failure.kind == .destinationGone)
            #expect(failure.message.contains(shop.path("gone/f")))
        }
    }

    @Test func `only the very file is removed`() throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "12345")
            let other = FileIdentity(device: file.identity.device, inode: file.identity.inode &+ 1)
            #expect(try shop.run(.discard(path: file.path, identity: other)).removed() == .stranger)
            #expect(
                try shop.run(.removeFinished(path: file.path, identity: file.identity, byteCount: 4)).removed()
                    == .stranger
            )
            #expect(try shop.names == ["f.towline"])
            #expect(try shop.run(.discard(path: file.path, identity: file.identity)).removed() == .removed)
            #expect(try shop.run(.discard(path: file.path, identity: file.identity)).removed() == .wasAbsent)
            #expect(try shop.names.isEmpty)
        }
    }

    @Test func `a finished file with its identity and length is removed`() throws {
        try withWorkshop { shop in
            let file = try shop.create("f", "12345")
            let other = FileIdentity(device: file.identity.device, inode: file.identity.inode &+ 1)
            let stranger = FileJob.removeFinished(path: file.path, identity: other, byteCount: 5)
            #expect(try shop.run(stranger).removed() == .stranger)
            // After a boot the device may have another number.
            let before = FileIdentity(device: file.identity.device &+ 1, inode: file.identity.inode)
            let job = FileJob.removeFinished(path: file.path, identity: before, byteCount: 5)
            #expect(try shop.run(job).removed() == .removed)
            #expect(try shop.names.isEmpty)
        }
    }

    @Test(arguments: Stranger.allCases.filter { $0 != .hardLink })
    func `a stranger at the partial's name is not removed`(stranger: Stranger) throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "12345")
            try stranger.replace("f.towline", in: shop)
            #expect(try shop.run(.discard(path: file.path, identity: file.identity)).removed() == .stranger)
            #expect(try shop.names.contains("f.towline"))
        }
    }
}
