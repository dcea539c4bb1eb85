import Glibc
import Platform

/// A pipe whose reading end tests hold and close as they like.  C: pipe(2)
final class Pipe: Sendable {
    private let reader: Guarded<Int32>
    private let writer: Int32

    /// The writing end is the caller's: it must take it, once.
    init(isWriterNonBlocking: Bool = false) throws {
        // A write to a pipe that nobody reads must be an error here, as it is in the program.
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        _ = try valueOrErrno { pipe(&ends) }
        reader = Guarded(ends[0])
        writer = ends[1]
        if isWriterNonBlocking { _ = fcntl(writer, F_SETFL, O_NONBLOCK) }
    }

    deinit { close() }

    func takeWriter() -> FileDescriptor { FileDescriptor(owning: writer) }

    /// Closes the reading end.
    func close() {
        reader.withLock { raw in
            if raw >= 0 { _ = Glibc.close(raw) }
            raw = -1
        }
    }

    /// So many bytes, or fewer at the end of the stream; read on a thread of its own.
    func read(atMost limit: Int) async -> [UInt8] {
        let raw = reader.withLock { $0 }
        return await onThread {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while bytes.count < limit {
                let count = Glibc.read(raw, &buffer, min(buffer.count, limit - bytes.count))
                if count <= 0 { break }
                bytes += buffer[..<count]
            }
            return bytes
        }
    }
}

/// Runs what blocks on a thread of its own, off the pool that all tests share.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    let thread = Guarded<Thread?>(nil)
    let value = await withCheckedContinuation { continuation in
        do {
            let started = try Thread(name: "test") { continuation.resume(returning: body()) }
            thread.withLock { $0 = started }
        } catch {
            continuation.resume(returning: body())
        }
    }
    // It has nothing left to do.
    thread.withLock { $0 }?.join()
    return value
}
