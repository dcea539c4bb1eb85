import Core
import Engine
import Foundation
import Platform
import TestSupport
import Testing

/// Options that try again soon.
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

/// A file system of its own, in memory and small.
final class SmallVolume: Sendable {
    let path: String

    init(_ options: String) throws {
        path = FileManager.default.temporaryDirectory.path + "/towline-volume-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try #require(runs("/bin/mount", "-t", "tmpfs", "-o", options, "tmpfs", path))
    }

    deinit {
        _ = runs("/bin/umount", "-l", path)
        try? FileManager.default.removeItem(atPath: path)
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Takes all the room there is.
    func fill() { _ = runs("/bin/dd", "if=/dev/zero", "of=\(path("hog"))", "bs=4096", "status=none") }
    func makeRoom() throws { try FileManager.default.removeItem(atPath: path("hog")) }
}

/// Whether this process may mount a file system, found by trying once.
let mayMount: Bool = (try? SmallVolume("size=64k")) != nil

func runs(_ arguments: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: arguments[0])
    process.arguments = Array(arguments.dropFirst())
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
}
