import Foundation
import Platform
import Store
import Testing

@Suite struct StateDirectoryTests {
    @Test(arguments: [
        (["XDG_STATE_HOME": "/x", "HOME": "/h"], "/x/towline/app"),
        (["XDG_STATE_HOME": "relative", "HOME": "/h"], "/h/.local/state/towline/app"),
        (["XDG_STATE_HOME": "", "HOME": "/"], "/.local/state/towline/app"),
        (["HOME": "h"], "/passwd/.local/state/towline/app"),
        ([:], "/passwd/.local/state/towline/app"),
    ])
    func `an application's directory is below the state home`(environment: [String: String], expected: String) throws {
        let location = StateLocation.application("app")
        let path = try location.path(environment: { environment[$0] }, userHome: { "/passwd" })
        #expect(path == expected)
    }

    @Test func `without any home there is an error that says what to do`() {
        let error = #expect(throws: StateDirectoryError.self) {
            try StateLocation.application("app").path(environment: { _ in nil }, userHome: { nil })
        }
        #expect(error?.kind == .noHomeDirectory)
        #expect(error?.message.contains("--state-dir") == true)
    }

    @Test(arguments: ["", ".", "..", "a/b", "-a", ".hidden", "a b", "ä", String(repeating: "a", count: 65)])
    func `a name that is no plain word is refused`(name: String) {
        let error = #expect(throws: StateDirectoryError.self) {
            try StateLocation.application(name).path(environment: { _ in "/x" }, userHome: { nil })
        }
        #expect(error?.kind == .badApplicationName)
    }

    @Test func `a relative directory is below the working directory`() throws {
        let path = try StateLocation.directory("state").path()
        #expect(path == FileManager.default.currentDirectoryPath + "/state")
    }

    @Test(arguments: [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x6573_5546, -0xacb2be] as [Int64])
    func `a network file system is refused unless allowed`(magic: Int64) throws {
        let directory = TemporaryDirectory()
        let error = #expect(throws: StateDirectoryError.self) {
            try StateDirectory(path: directory.path, fileSystemMagic: { _ in magic })
        }
        #expect(error?.kind == .networkFileSystem)
        #expect(error?.message.contains(directory.path) == true)
        #expect(error?.message.contains("--allow-network-state") == true)
        #expect(directory.names().isEmpty, "nothing is made before it is refused")
        let allowed = try StateDirectory(
            path: directory.path,
            allowsNetworkFileSystem: true,
            fileSystemMagic: { _ in magic }
        )
        #expect(allowed.isSole)
    }

    @Test(arguments: [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x794c_7630] as [Int64])
    func `a local file system is none`(magic: Int64) {
        #expect(NetworkFileSystem(magic: magic) == nil)
    }

    @Test func `only its owner can read what is in it`() throws {
        let directory = TemporaryDirectory()
        let client = try Client(directory)
        _ = try client.create(record("a"))
        #expect(try directory.permissions("") == 0o700)
        #expect(try directory.permissions("sessions") == 0o700)
        for name in [
            "towline.db", "towline.db-wal", "towline.db-shm", "state.lock", "sessions/\(client.store.session.number)",
        ] {
            #expect(try directory.permissions(name) == 0o600, "\(name)")
        }
    }

    @Test func `a file in its place is refused`() throws {
        let directory = TemporaryDirectory()
        try directory.write("file", [1])
        let error = #expect(throws: StateDirectoryError.self) { try StateDirectory(path: directory.path + "/file") }
        #expect(error?.kind == .notDirectory)
        #expect(error?.message.contains(directory.path + "/file") == true)
    }

    @Test func `the second waits for the first to share and gives up at its limit`() throws {
        let directory = TemporaryDirectory()
        let first = try StateDirectory(path: directory.path)
        #expect(first.isSole)
        let error = #expect(throws: StateDirectoryError.self) {
            try StateDirectory(path: directory.path, lockLimitMilliseconds: 0)
        }
        #expect(error?.kind == .inUse)
        try first.share()
        let second = try StateDirectory(path: directory.path, lockLimitMilliseconds: 0)
        #expect(!second.isSole)
    }
}
