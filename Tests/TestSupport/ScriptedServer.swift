package import Platform

/// An HTTP/1.1 server on 127.0.0.1 in the test's process; a closure decides its answers.
///
/// ```
/// let server = try ScriptedServer { request in .file(bytes, etag: "\"v1\"") }
/// server.url("/a")
/// ```
/// It has a thread per connection, so an answer may wait without blocking a test, and stops with the last reference.
/// Isolation: any thread; the closure runs on the connections' threads.
package final class ScriptedServer: Sendable {
    /// A request with the progress of its answer.
    package struct Exchange: Sendable {
        package var request: Request
        /// Bytes of this answer that the kernel accepted, its head included.
        package var sentByteCount = 0
        /// True once the answer's last step is done or the connection has failed.
        package var isFinished = false
    }

    private let engine: ScriptedServerEngine

    package init(_ respond: @escaping @Sendable (Request) -> Response) throws(Errno) {
        engine = try ScriptedServerEngine(respond)
        try engine.start()
    }

    deinit { engine.stop() }

    package var port: UInt16 { engine.port }

    /// The URL of a target, which begins with a slash.
    package func url(_ target: String) -> String { "http://127.0.0.1:\(port)\(target)" }

    /// All requests so far, in order.
    package var requests: [Request] { exchanges.map(\.request) }
    package var exchanges: [Exchange] { engine.state.withLock { $0.exchanges } }
    /// How many connections were accepted.
    package var connectionCount: Int { engine.state.withLock { $0.connectionCount } }

    /// Waits until this many requests have arrived in all.
    package func waitForRequests(_ count: Int) async {
        await engine.wait { $0.exchanges.count >= count }
    }

    /// Waits until this many answers are finished: sent completely, or their connection closed.
    package func waitForFinishedAnswers(_ count: Int) async {
        await engine.wait { $0.exchanges.count(where: \.isFinished) >= count }
    }

    /// Closes everything and waits for the threads; later connections are refused.
    package func stop() { engine.stop() }
}
