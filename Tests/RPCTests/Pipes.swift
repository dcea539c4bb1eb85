import Glibc
import Platform

/// A pipe whose reading end a test can keep open or close.  C: pipe(2)
final class Pipe: Sendable {
    private let reader: Guarded<Int32>
    private let writer: Int32

    /// The caller owns the writing end and must take it, once.
    init(isWriterNonBlocking: Bool = false) throws {
        // As in the program, a write to a pipe without a reader must be an error, not a signal.
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

    /// This many bytes, or fewer at the end of the stream; read on its own thread.
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

/// Runs a blocking function on its own thread, outside the pool that all tests share.
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
    // The thread has no more work.
    thread.withLock { $0 }?.join()
    return value
}
