import Foundation
import Platform

/// Runs the body with a directory that is removed afterwards.
func withTemporaryDirectory(_ body: (_ path: String) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("platform-\(UUID().uuidString)").path
    try makeDirectory(path, mode: 0o700)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
}

func put(_ text: String, at path: String) throws {
    let file = try FileDescriptor(open: path, flags: O_RDWR | O_CREAT | O_TRUNC)
    try file.write(text.utf8Span.span.bytes, at: 0)
}
