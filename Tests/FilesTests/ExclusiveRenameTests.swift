import Files
import Platform
import Testing

@Suite struct ExclusiveRenameTests {
    private static func failing(_ error: Errno) -> ExclusiveRename.Step {
        { (_, _) throws(Errno) in throw error }
    }

    /// The system's call, a file system without it, and one without hard links too.
    private static let kinds: [ExclusiveRename] = [
        .system,
        ExclusiveRename(
            rename: failing(.invalidArgument),
            link: { (old, new) throws(Errno) in try hardLink(old, to: new) }
        ),
        ExclusiveRename(rename: failing(.notImplemented), link: failing(.notPermitted)),
    ]

    @Test(arguments: kinds.indices)
    func `a free name is taken and the old one is gone`(kind: Int) throws {
        try withWorkshop { shop in
            try shop.put("data", at: "old")
            try Self.kinds[kind].run(Place(path: shop.path("old")), to: Place(path: shop.path("new")))
            #expect(try shop.names == ["new"])
            #expect(try shop.contents("new") == "data")
        }
    }

    @Test(arguments: kinds.indices)
    func `a name that is taken stays as it is`(kind: Int) throws {
        try withWorkshop { shop in
            try shop.put("data", at: "old")
            try shop.put("mine", at: "new")
            #expect(throws: Errno.exists) {
                try Self.kinds[kind].run(Place(path: shop.path("old")), to: Place(path: shop.path("new")))
            }
            #expect(try shop.contents("new") == "mine")
            #expect(try shop.contents("old") == "data")
        }
    }

    @Test func `an error that is no lack of support is not worked around`() throws {
        try withWorkshop { shop in
            try shop.put("data", at: "old")
            let rename = ExclusiveRename(rename: Self.failing(.inputOutput), link: Self.failing(.exists))
            #expect(throws: Errno.inputOutput) {
                try rename.run(Place(path: shop.path("old")), to: Place(path: shop.path("new")))
            }
            #expect(try shop.names == ["old"])
        }
    }
}
