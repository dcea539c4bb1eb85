import Core
import Files
import Foundation
import Glibc
import Platform
import Testing

/// New partials: without a name until the record is committed, where the file system allows it.
@Suite(.enabled(if: mayMount, "only root may mount the file systems that these tests need"))
struct NewFileTests {
    private func small(_ shop: Workshop, _ name: String, _ text: String = "small") throws -> OpenFile {
        let job = FileJob.writeSmall(path: shop.path(name), buffer(text))
        return try shop.result(shop.submit(job, volume: try shop.volume)).outcome.opened().file
    }

    @Test func `a partial that is not named leaves nothing behind`() throws {
        try withFileSystem(options: "size=1m") { shop in
            let job = FileJob.createPartial(path: shop.path("f.towline"), expectedByteCount: 10_000)
            let file = try shop.run(job, volume: shop.volume).opened().file
            #expect(!file.isNamed)
            let whole = try small(shop, "s.towline")
            #expect(try shop.names.isEmpty)
            for file in [file, whole] { #expect(try shop.run(.close(file)).isClosed) }
            #expect(try shop.names.isEmpty)
        }
    }

    @Test func `a partial gets its name once, and keeps what it holds`() throws {
        try withFileSystem(options: "size=1m") { shop in
            let file = try small(shop, "s.towline")
            for _ in 0..<2 { #expect(try shop.run(.name(file, path: shop.path("s.towline"))).isNamed) }
            #expect(try shop.names == ["s.towline"])
            #expect(try shop.contents("s.towline") == "small")
            #expect(try shop.run(.close(file)).isClosed)
            let opened = try shop.run(.openPartial(path: file.path, expected: file.identity)).opened()
            #expect(opened.byteCount == 5)
            #expect(opened.file.isNamed)
        }
    }

    @Test func `a name that was taken meanwhile is not touched, and another will do`() throws {
        try withFileSystem(options: "size=1m") { shop in
            let file = try small(shop, "s.towline")
            try shop.put("mine", at: "s.towline")
            let error = try shop.run(.name(file, path: shop.path("s.towline"))).error()
            #expect(error == FileError(.create, shop.path("s.towline"), .exists))
            #expect(try shop.contents("s.towline") == "mine")
            #expect(try shop.run(.name(file, path: shop.path("s.2.towline"))).isNamed)
            #expect(try shop.contents("s.2.towline") == "small")
        }
    }

    @Test(arguments: PublishMode.allCases, [false, true])
    func `a file without a name is published under its final one alone`(mode: PublishMode, isTaken: Bool) throws {
        try withFileSystem(options: "size=1m") { shop in
            if isTaken { try shop.put("old", at: "s") }
            let file = try small(shop, "s.towline")
            let publication = Publication(
                file: file, partialPath: shop.path("s.towline"), finalPath: shop.path("s"), mode: mode, fileMode: 0o644)
            let outcome = try shop.run(.publish(publication))
            switch (mode, isTaken) {
            case (.noReplace, true):
                #expect(try outcome.error().reason == .exists)
                #expect(try shop.names == ["s"])
                // It can be kept under the partial's name.
                #expect(try shop.run(.name(file, path: shop.path("s.towline"))).isNamed)
                #expect(try shop.contents("s.towline") == "small")
            case (.numbered, true):
                #expect(try outcome.published().path == shop.path("s (1)"))
                #expect(try shop.names == ["s", "s (1)"])
            default:
                #expect(try outcome.published() == PublishedFile(path: shop.path("s"), identity: file.identity))
                #expect(try shop.names == ["s"])
                #expect(try shop.contents("s") == "small")
                #expect(try FileStatus(path: shop.path("s")).mode & 0o777 == 0o644)
            }
            if isTaken, mode != .replace { #expect(try shop.contents("s") == "old") }
        }
    }

    @Test func `elsewhere a partial has its name at once, and an empty one that a kill left is replaced`() throws {
        // Unnamed files are not used on ramfs.
        try withFileSystem("ramfs", options: "") { shop in
            let path = shop.path("f.towline")
            let first = try shop.run(.createPartial(path: path, expectedByteCount: nil), volume: shop.volume).opened()
            #expect(first.file.isNamed)
            let again = FileJob.createPartial(path: path, expectedByteCount: nil, replacesOrphan: true)
            // The process that created it is alive.
            #expect(try shop.run(again).error().reason == .exists)
            #expect(try shop.run(.close(first.file)).isClosed)
            // Another record's download does not touch the file.
            #expect(try shop.run(.createPartial(path: path, expectedByteCount: nil)).error().reason == .exists)
            let opened = try shop.run(again).opened()
            #expect(opened.file.isNamed)
            #expect(try shop.run(.write(opened.file, buffer("x"), offset: 0, mark: nil)).isWritten)
            #expect(try shop.names == ["f.towline"])
            #expect(try shop.contents("f.towline") == "x")
        }
    }

    @Test(arguments: ["ramfs", "tmpfs"])
    func `what may be somebody else's is not taken for an orphan`(type: String) throws {
        try withFileSystem(type, options: "") { shop in
            for name in ["content", "public", "second", "theirs", "link", "directory"] {
                if name != "link", name != "directory" {
                    try shop.put(name == "content" ? "x" : "", at: name)
                    #expect(chmod(shop.path(name), name == "public" ? 0o644 : 0o600) == 0)
                }
            }
            try hardLink(Place(path: shop.path("second")), to: Place(path: shop.path("other name")))
            #expect(chown(shop.path("theirs"), 65_534, 65_534) == 0)
            #expect(symlink(shop.path("none"), shop.path("link")) == 0)
            try makeDirectory(shop.path("directory"), mode: 0o600)
            let before = try shop.names
            for name in ["content", "public", "second", "theirs", "link", "directory"] {
                let identity = try FileStatus(path: shop.path(name)).identity
                let job = FileJob.createPartial(path: shop.path(name), expectedByteCount: nil, replacesOrphan: true)
                #expect(try shop.run(job).error().reason == .exists, "\(name)")
                #expect(try FileStatus(path: shop.path(name)).identity == identity, "\(name)")
            }
            #expect(try shop.names == before)
        }
    }
}
