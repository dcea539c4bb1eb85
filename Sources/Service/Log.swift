internal import JSON
package import Platform

/// The levels of the log.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
    case error
    case warn
    case info
    case debug

    /// From the most severe to the least.
    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .error: 0
        case .warn: 1
        case .info: 2
        case .debug: 3
        }
    }
}

/// The format of a log line.
package enum LogFormat: String, Sendable, CaseIterable {
    case text
    /// One JSON object per line: `time`, `level`, `message`.
    case json
}

/// Writes lines to standard error, and never blocks the caller.  Isolation: any thread.
///
/// A separate thread writes; the first line starts it. Lines that cannot be written in time are dropped and counted.
/// Callers make sure that no line contains a header, userinfo or query value.
package final class Log: Sendable {
    private struct State {
        var lines: [String] = []
        var droppedCount = 0
        var isThreadStarted = false
        var isIdle = true
    }
    /// Lines that may be queued.
    private static let lineLimit = 1_000
    /// Longer messages are cut to this many bytes.
    private static let messageByteLimit = 4_000

    /// Lines of this level and of more severe ones are written.
    package let level: LogLevel
    private let format: LogFormat
    private let descriptor: Int32
    private let state = Guarded(State())
    private let news: Mailbox<Void>

    /// Logs to the descriptor, which must stay open as long as the process; starts no thread yet.
    package init(level: LogLevel, format: LogFormat, descriptor: Int32 = 2) throws(Errno) {
        self.level = level
        self.format = format
        self.descriptor = descriptor
        news = try Mailbox()
    }

    /// An unexpected failure.
    package func error(_ message: @autoclosure () -> String) { write(.error, message) }
    /// Something that the user should check.
    package func warn(_ message: @autoclosure () -> String) { write(.warn, message) }
    /// Helps a user to find a cause.
    package func info(_ message: @autoclosure () -> String) { write(.info, message) }
    /// Only for developers of this program.
    package func debug(_ message: @autoclosure () -> String) { write(.debug, message) }

    /// Waits until the lines so far are written, but not longer than the timeout.
    package func flush(timeoutMilliseconds: Int64) {
        let deadline = monotonicNanoseconds() + timeoutMilliseconds * 1_000_000
        while !state.withLock({ $0.isIdle }), monotonicNanoseconds() < deadline {
            var none: [PollRequest] = []
            waitForNews(&none, timeoutMilliseconds: 1)
        }
    }

    private func write(_ level: LogLevel, _ message: () -> String) {
        if level > self.level { return }
        let line = Self.line(level, message(), format, unixMilliseconds: unixMilliseconds())
        let mustStart = state.withLock { state in
            state.isIdle = false
            if state.lines.count < Self.lineLimit { state.lines.append(line) } else { state.droppedCount += 1 }
            defer { state.isThreadStarted = true }
            return !state.isThreadStarted
        }
        // Without the thread the lines are lost, and this cannot be reported anywhere.
        if mustStart { _ = try? Thread(name: "log") { [self] in run() } }
        news.send(())
    }

    private func run() {
        while news.waitAndTakeAll() != nil {
            while let (lines, dropped) = takeLines() { writeOut(lines, dropped) }
        }
    }

    /// The queued lines; nil, and idle, if there are none.
    private func takeLines() -> ([String], Int)? {
        state.withLock { state in
            if state.lines.isEmpty && state.droppedCount == 0 {
                state.isIdle = true
                return nil
            }
            defer {
                state.lines = []
                state.droppedCount = 0
            }
            return (state.lines, state.droppedCount)
        }
    }

    private func writeOut(_ lines: [String], _ dropped: Int) {
        var text = lines.joined()
        if dropped > 0 {
            text += Self.line(.warn, "\(dropped) lines were lost", format, unixMilliseconds: unixMilliseconds())
        }
        var bytes = Array(text.utf8)
        while !bytes.isEmpty {
            // Standard error may be closed: do not stop, and do not retry.
            guard let count = try? writeSome(bytes, to: descriptor), count > 0 else { return }
            bytes.removeFirst(count)
        }
    }

    /// One line with its newline; control characters are escaped, so that it stays one line and cannot control a
    /// terminal.
    static func line(_ level: LogLevel, _ message: String, _ format: LogFormat, unixMilliseconds: Int64) -> String {
        let time = Timestamp.text(unixMilliseconds: unixMilliseconds)
        let cut = message.utf8.count <= messageByteLimit ? message : String(message.prefix(messageByteLimit / 4)) + "…"
        switch format {
        case .json:
            let object: JSONValue = ["time": .string(time), "level": .string(level.rawValue), "message": .string(cut)]
            return String(decoding: object.serialized(), as: UTF8.self) + "\n"
        case .text:
            return "\(time) \(level.rawValue) \(String(cut.unicodeScalars.map(plain).joined()))\n"
        }
    }

    private static func plain(_ scalar: Unicode.Scalar) -> String {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: "\\u{\(String(scalar.value, radix: 16))}"
        default: String(scalar)
        }
    }
}
