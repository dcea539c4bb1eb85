import Core
import Files
import Foundation
import Glibc
import Platform
import Testing

@Suite struct PublishTests {
    private func publish(
        _ file: OpenFile,
        as name: String,
        _ mode: PublishMode,
        in shop: Workshop,
        fileMode: UInt32 = 0o644
    ) throws -> FileOutcome {
        try shop.run(
            .publish(
                Publication(
                    file: file,
                    partialPath: file.path,
                    finalPath: shop.path(name),
                    mode: mode,
                    fileMode: fileMode
                )
            )
        )
    }

    @Test(arguments: PublishMode.allCases)
    func `a free name is taken, with the mode asked for`(mode: PublishMode) throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "data")
            let published = try publish(file, as: "f.txt", mode, in: shop, fileMode: 0o640).published()
            #expect(published == PublishedFile(path: shop.path("f.txt"), identity: file.identity))
            #expect(try FileStatus(path: published.path).mode & 0o777 == 0o640)
            #expect(try shop.names == ["f.txt"])
            // Repeated, as after a crash in between, it has the same result.
            #expect(try publish(file, as: "f.txt", mode, in: shop).published() == published)
        }
    }

    @Test func `a name that is taken is left alone`() throws {
        try withWorkshop { shop in
            try shop.put("old", at: "f")
            let file = try shop.create("f.towline", "new")
            let error = try publish(file, as: "f", .noReplace, in: shop).error()
            #expect(error == FileError(.publish, shop.path("f"), .exists))
            #expect(error.downloadFailure.kind == .destinationConflict)
            #expect(try shop.contents("f") == "old")
            #expect(try shop.contents("f.towline") == "new")
        }
    }

    @Test func `replace takes the place of a file, and of a link but not of what it leads to`() throws {
        try withWorkshop { shop in
            try shop.put("old", at: "plain")
            try shop.put("precious", at: "precious")
            #expect(symlink(shop.path("precious"), shop.path("link")) == 0)
            for name in ["plain", "link"] {
                let file = try shop.create(name + ".towline", "new")
                _ = try publish(file, as: name, .replace, in: shop).published()
                #expect(try FileStatus(path: shop.path(name)).identity == file.identity)
            }
            #expect(try shop.contents("precious") == "precious")
        }
    }

    @Test func `replace does not take the place of a directory`() throws {
        try withWorkshop { shop in
            try makeDirectory(shop.path("d"), mode: 0o700)
            let file = try shop.create("d.towline", "new")
            let failure = try publish(file, as: "d", .replace, in: shop).error().downloadFailure
            #expect(failure.kind == .destinationConflict)
            #expect(try shop.names == ["d", "d.towline"])
        }
    }

    @Test func `numbered takes the first name that is free`() throws {
        try withWorkshop { shop in
            try shop.put("0", at: "a.tar.gz")
            try shop.put("1", at: "a (1).tar.gz")
            #expect(symlink(shop.path("nowhere"), shop.path("a (2).tar.gz")) == 0)
            let file = try shop.create("a.tar.gz.towline", "new")
            let published = try publish(file, as: "a.tar.gz", .numbered, in: shop).published()
            #expect(published.path == shop.path("a (3).tar.gz"))
            #expect(try publish(file, as: "a.tar.gz", .numbered, in: shop).published() == published)
        }
    }

    @Test(arguments: [
        (String(repeating: "n", count: 255), String(repeating: "n", count: 251) + " (1)"),
        (String(repeating: "é", count: 125) + ".html", String(repeating: "é", count: 123) + " (1).html"),
        (".hidden", ".hidden (1)"), ("none", "none (1)"),
    ])
    func `a number goes before the extension and the name stays within 255 bytes`(name: String, numbered: String) throws
    {
        try withWorkshop { shop in
            try shop.put("", at: name)
            let file = try shop.create("p.towline", "new")
            let published = try publish(file, as: name, .numbered, in: shop).published()
            #expect(published.path == shop.path(numbered))
        }
    }

    @Test func `when all numbers are taken the name is`() throws {
        try withWorkshop { shop in
            try shop.put("", at: "f")
            for number in 1...PublishMode.numberLimit { try shop.put("", at: "f (\(number))") }
            let file = try shop.create("f.towline", "new")
            #expect(try publish(file, as: "f", .numbered, in: shop).error().reason == .exists)
            #expect(try shop.names.contains("f.towline"))
        }
    }

    @Test(arguments: Stranger.allCases.filter { $0 != .hardLink })
    func `a stranger that took the partial's place is not published`(stranger: Stranger) throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "data")
            try stranger.replace("f.towline", in: shop)
            for mode in PublishMode.allCases {
                let error = try publish(file, as: "f", mode, in: shop).error()
                #expect(error == FileError(.publish, file.path, .replaced))
                #expect(error.downloadFailure.kind == .partialReplaced)
            }
            #expect(try !shop.names.contains("f"))
        }
    }

    @Test func `a partial that was removed is not published, a directory that is gone is told`() throws {
        try withWorkshop { shop in
            try makeDirectory(shop.path("d"), mode: 0o700)
            let file = try shop.create("d/f.towline", "data")
            try removeFile(file.path)
            #expect(try publish(file, as: "d/f", .noReplace, in: shop).error().reason == .replaced)
            #expect(rmdir(shop.path("d")) == 0)
            let failure = try publish(file, as: "d/f", .noReplace, in: shop).error().downloadFailure
            #expect(failure.kind == .destinationGone)
            #expect(failure.message.contains(shop.path("d")))
        }
    }

    @Test(arguments: PublishMode.allCases)
    func `a second name that an interrupted publication left is mended`(mode: PublishMode) throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "data")
            try hardLink(Place(path: file.path), to: Place(path: shop.path("f")))
            #expect(try publish(file, as: "f", mode, in: shop).published().path == shop.path("f"))
            #expect(try shop.names == ["f"])
        }
    }

    @Test func `a file published before a crash is found, whatever its number`() throws {
        try withWorkshop { shop in
            try shop.put("old", at: "f")
            let file = try shop.create("f.towline", "data")
            let published = try publish(file, as: "f", .numbered, in: shop).published()
            func look(byteCount: Int64, _ mode: PublishMode, device: UInt64 = 0) throws -> FileOutcome {
                try shop.run(
                    .lookForPublished(
                        finalPath: shop.path("f"),
                        identity: FileIdentity(
                            device: file.identity.device &+ device,
                            inode: file.identity.inode
                        ),
                        byteCount: byteCount,
                        mode: mode
                    )
                )
            }
            #expect(try look(byteCount: 4, .numbered).published() == published)
            // After a boot the device may have another number; the new one is reported.
            #expect(try look(byteCount: 4, .numbered, device: 1).published() == published)
            for outcome in [try look(byteCount: 4, .noReplace), try look(byteCount: 5, .numbered)] {
                guard case .notPublished = outcome else { throw Unexpected(outcome: outcome) }
            }
        }
    }

    @Test func `two hundred files finish together`() throws {
        try withWorkshop { shop in
            let volume = try shop.volume
            try makeDirectory(shop.path("other"), mode: 0o700)
            let names = (0..<200).map { $0 % 2 == 0 ? "f\($0)" : "other/f\($0)" }
            let made = names.map {
                shop.submit(.writeSmall(path: shop.path($0 + ".towline"), buffer("data of \($0)")), volume: volume)
            }
            let files = try made.map { try shop.result($0).outcome.opened().file }
            let synced = files.map { shop.submit(.syncForFinish($0)) }
            for ticket in synced { #expect(try shop.result(ticket).outcome.isSynchronized) }
            let published = zip(files, names).map { file, name in
                shop.submit(
                    .publish(
                        Publication(
                            file: file,
                            partialPath: file.path,
                            finalPath: shop.path(name),
                            mode: .noReplace,
                            fileMode: 0o644
                        )
                    )
                )
            }
            for (ticket, name) in zip(published, names) {
                #expect(try shop.result(ticket).outcome.published().path == shop.path(name))
                #expect(try shop.contents(name) == "data of \(name)")
            }
            let closed = files.map { shop.submit(.close($0)) }
            for ticket in closed { #expect(try shop.result(ticket).outcome.isClosed) }
            #expect(try shop.names.count == 101)
        }
    }
}
