import Files
import Glibc
import Platform
import Testing

@Suite struct InspectTests {
    @Test func `a destination tells of its directory, its name and its partial's name`() throws {
        try withWorkshop { shop in
            try shop.put("12345", at: "f")
            try makeDirectory(shop.path("d"), mode: 0o700)
            #expect(symlink(shop.path("f"), shop.path("link")) == 0)
            let identity = try FileStatus(path: shop.path("f")).identity

            let status = try shop.run(.inspect(directory: shop.directory, name: "f", partialName: "f.towline"))
                .inspected()
            #expect(status.directory == .present(try shop.volume))
            #expect(status.isWritable)
            #expect((status.availableByteCount ?? 0) > 0)
            #expect(status.atName == .regular(identity, byteCount: 5))
            #expect(status.atPartialName == .nothing)

            let others = try shop.run(.inspect(directory: shop.directory + "/", name: "d", partialName: "link"))
                .inspected()
            #expect(others.atName == .directory)
            #expect(others.atPartialName == .other)
        }
    }

    @Test func `a directory that is missing or is none is an answer, not an error`() throws {
        try withWorkshop { shop in
            try shop.put("", at: "f")
            for (name, expected) in [
                ("gone", DestinationStatus.Directory.missing), ("f", .notDirectory), ("f/below", .notDirectory),
            ] {
                let status = try shop.run(.inspect(directory: shop.path(name), name: "x", partialName: nil)).inspected()
                #expect(status.directory == expected)
                #expect(!status.isWritable)
                #expect(status.atName == .nothing)
            }
        }
    }

    @Test func `a name too long is told`() throws {
        try withWorkshop { shop in
            let name = String(repeating: "n", count: 256)
            let error = try shop.run(.inspect(directory: shop.directory, name: name, partialName: nil)).error()
            #expect(error.errno == .nameTooLong)
        }
    }
}
