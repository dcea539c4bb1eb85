import Core
import Engine
import Files
import Foundation
import Glibc
import Platform
import TestSupport
import Testing

/// Options with short delays before retries.
func quick(maxAttempts: Int = 3, _ configure: (inout DownloadOptions) -> Void = { _ in }) -> DownloadOptions {
    var options = DownloadOptions()
    options.retry = RetryOptions(maxAttempts: maxAttempts, initialDelayMilliseconds: 10, maxDelayMilliseconds: 20)
    configure(&options)
    return options
}

func settings(maxActive: Int, maxActivePerHost: Int = 1_000) -> EngineSettings {
    var settings = EngineSettings()
    settings.maxActive = maxActive
    settings.maxActivePerHost = maxActivePerHost
    return settings
}

/// What happened, in order.  Isolation: any thread.
final class Trace: Sendable {
    private let lines = Guarded<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    func clear() { lines.withLock { $0 = [] } }
}

/// A small file system in memory.
final class SmallVolume: Sendable {
    let path: String

    /// - Parameter options: options of tmpfs, as for mount(8).
    init(_ options: String) throws {
        path = FileManager.default.temporaryDirectory.path + "/towline-volume-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        // Not mount(8): Foundation's Process is not safe next to so many threads.
        guard mount("tmpfs", path, "tmpfs", 0, options) == 0 else {
            try FileManager.default.removeItem(atPath: path)
            throw Errno.current
        }
    }

    deinit {
        _ = umount2(path, Int32(MNT_DETACH))
        try? FileManager.default.removeItem(atPath: path)
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Uses all the space.
    func fill() {
        let file = open(path("hog"), O_WRONLY | O_CREAT, 0o600)
        let block = [UInt8](repeating: 0, count: 4_096)
        while write(file, block, block.count) > 0 {}
        _ = close(file)
    }

    func makeRoom() throws { try FileManager.default.removeItem(atPath: path("hog")) }
}

/// Whether this process may mount a file system; found by trying once.
let mayMount: Bool = (try? SmallVolume("size=64k")) != nil

/// The digest of some bytes, computed from a file in the directory.
func digest(_ bytes: [UInt8], _ algorithm: Checksum.Algorithm, in directory: TemporaryDirectory) throws -> Checksum {
    let path = directory.path("digested")
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let results = try Mailbox<FileResult>()
    let workers = try FileWorkers(results: results)
    defer { workers.stop() }
    func run(_ job: FileJob) throws -> FileOutcome {
        workers.submit(job, ticket: 1)
        return try #require(results.waitAndTakeAll()?.first).outcome
    }
    guard case .opened(let opened) = try run(.openPartial(path: path, expected: nil)),
        case .digested(let digest) = try run(.digest(opened.file, algorithm, cancellation: CancellationFlag()))
    else { throw UnexpectedAnswer() }
    return Checksum(algorithm: algorithm, value: digest.hexadecimal)
}
