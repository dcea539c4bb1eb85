import Files
import Foundation
import Glibc
import Platform
import Testing

/// A directory with workers for it; `withWorkshop` removes both at its end.
final class Workshop {
    let directory: String
    let workers: FileWorkers
    private let results: Mailbox<FileResult>
    private var waiting: [UInt64: FileResult] = [:]
    private var lastTicket: UInt64 = 0

    init(directory: String) throws {
        self.directory = directory
        results = try Mailbox<FileResult>()
        workers = try FileWorkers(results: results)
    }

    func path(_ name: String) -> String { directory + "/" + name }

    var volume: VolumeID {
        get throws { VolumeID(try FileStatus(following: directory).identity) }
    }

    func submit(_ job: FileJob, volume: VolumeID? = nil) -> UInt64 {
        lastTicket += 1
        workers.submit(job, ticket: lastTicket, volume: volume)
        return lastTicket
    }

    /// The result of a job; fails when there is none within half a minute.
    func result(_ ticket: UInt64) throws -> FileResult {
        while true {
            if let result = waiting.removeValue(forKey: ticket) { return result }
            let news = results.waitAndTakeAll(timeoutMilliseconds: 30_000) ?? []
            try #require(!news.isEmpty, "no result came")
            for result in news { waiting[result.ticket] = result }
        }
    }

    func run(_ job: FileJob, volume: VolumeID? = nil) throws -> FileOutcome {
        try result(submit(job, volume: volume)).outcome
    }

    func create(_ name: String = "f.towline", _ text: String = "", expectedByteCount: Int64? = nil) throws -> OpenFile {
        let job = FileJob.createPartial(path: path(name), expectedByteCount: expectedByteCount)
        let file = try run(job, volume: volume).opened().file
        guard try run(.name(file, path: path(name))).isNamed else { throw Errno.exists }
        if !text.isEmpty {
            let outcome = try run(.write(file, buffer(text), offset: 0, mark: nil))
            guard case .written(nil) = outcome else { throw Unexpected(outcome: outcome) }
        }
        return file
    }

    func contents(_ name: String) throws -> String {
        String(decoding: try readFile(path(name), limitByteCount: 1 << 20), as: UTF8.self)
    }

    func put(_ text: String, at name: String) throws {
        let file = try FileDescriptor(open: path(name), flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        try file.write(text.utf8Span.span.bytes, at: 0)
    }

    /// Fills all the free space.
    func fill(_ name: String) throws {
        let file = try FileDescriptor(open: path(name), flags: O_WRONLY | O_CREAT | O_APPEND, mode: 0o600)
        let page = [UInt8](repeating: 0, count: 4_096)
        var offset: Int64 = 0
        while (try? file.write(page.span.bytes, at: offset)) != nil { offset += 4_096 }
    }

    var names: [String] {
        get throws { try directoryEntries(directory).sorted() }
    }
}

/// An outcome of another case than the test expects.
struct Unexpected: Error {
    var outcome: FileOutcome
}

func withWorkshop(_ body: (Workshop) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID().uuidString)").path
    try makeDirectory(directory, mode: 0o700)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let workshop = try Workshop(directory: directory)
    defer { workshop.workers.stop() }
    try body(workshop)
}

func buffer(_ text: String) -> IOBuffer { buffer(Array(text.utf8)) }

func buffer(_ bytes: [UInt8]) -> IOBuffer {
    let buffer = IOBuffer(capacity: max(bytes.count, 1))
    _ = bytes.withUnsafeBytes { buffer.append($0) }
    return buffer
}

extension FileOutcome {
    func opened() throws -> OpenedPartial {
        guard case .opened(let opened) = self else { throw Unexpected(outcome: self) }
        return opened
    }

    func error() throws -> FileError {
        guard case .failed(let error) = self else { throw Unexpected(outcome: self) }
        return error
    }

    func published() throws -> PublishedFile {
        guard case .published(let file) = self else { throw Unexpected(outcome: self) }
        return file
    }

    func removed() throws -> Removal {
        guard case .removed(let removal) = self else { throw Unexpected(outcome: self) }
        return removal
    }

    func inspected() throws -> DestinationStatus {
        guard case .inspected(let status) = self else { throw Unexpected(outcome: self) }
        return status
    }

    func digested() throws -> FileDigest {
        guard case .digested(let digest) = self else { throw Unexpected(outcome: self) }
        return digest
    }

    var isNamed: Bool { if case .named = self { true } else { false } }
    var isReserved: Bool { if case .reserved = self { true } else { false } }
    var isSynchronized: Bool { if case .synchronized = self { true } else { false } }
    var isWritten: Bool { if case .written(nil) = self { true } else { false } }
    var isClosed: Bool { if case .closed = self { true } else { false } }
}

/// Runs the body on a new file system; only root may.
func withFileSystem(_ type: String = "tmpfs", options: String, _ body: (Workshop) throws -> Void) throws {
    try withWorkshop { outer in
        // Instead of mount(8): Foundation's Process is not safe next to many threads and descriptors.
        try #require(mount(type, outer.directory, type, 0, options) == 0)
        defer { _ = umount2(outer.directory, Int32(MNT_DETACH)) }
        let inner = try Workshop(directory: outer.directory)
        defer { inner.workers.stop() }
        try body(inner)
    }
}

/// Whether this process may mount a file system; tried once.
let mayMount: Bool = {
    guard geteuid() == 0 else { return false }
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("mount-\(UUID().uuidString)").path
    guard (try? makeDirectory(directory, mode: 0o700)) != nil else { return false }
    defer { _ = rmdir(directory) }
    guard mount("tmpfs", directory, "tmpfs", 0, "") == 0 else { return false }
    return umount2(directory, Int32(MNT_DETACH)) == 0
}()

/// Whether the kernel (6.8 or later) never reuses a mount's number.
let areMountsUnique: Bool = {
    let version = ProcessInfo.processInfo.operatingSystemVersion
    return (version.majorVersion, version.minorVersion) >= (6, 8)
}()
