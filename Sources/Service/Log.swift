internal import JSON
package import Platform

/// How much goes to standard error.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
    case error
    case warn
    case info
    case debug

    /// From the gravest to the least.
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

/// How a line of the log is written.
package enum LogFormat: String, Sendable, CaseIterable {
    case text
    /// One JSON object a line: `time`, `level`, `message`.
    case json
}

/// Writes lines to standard error without ever making anybody wait for it.  Isolation: any thread.
///
/// A thread of its own writes, started by the first line; what it cannot get rid of in time is dropped and counted.
/// Callers see to it that no line holds a header, userinfo or query value.
package final class Log: Sendable {
    private struct State {
        var lines: [String] = []
        var droppedCount = 0
        var isThreadStarted = false
        var isIdle = true
    }
    /// Lines that may wait for standard error.
    private static let lineLimit = 1_000
    /// Bytes of a message that are kept.
    private static let messageByteLimit = 4_000

    /// What is graver, or as grave, is written.
    package let level: LogLevel
    private let format: LogFormat
    private let descriptor: Int32
    private let state = Guarded(State())
    private let news: Mailbox<Void>

    /// Writes to the descriptor, which stays open as long as the process; starts no thread yet.
    package init(level: LogLevel, format: LogFormat, descriptor: Int32 = 2) throws(Errno) {
        self.level = level
        self.format = format
        self.descriptor = descriptor
        news = try Mailbox()
    }

    /// Something failed that should not.
    package func error(_ message: @autoclosure () -> String) { write(.error, message) }
    /// Something that the user should look at.
    package func warn(_ message: @autoclosure () -> String) { write(.warn, message) }
    /// What a user may want to know when looking for a cause.
    package func info(_ message: @autoclosure () -> String) { write(.info, message) }
    /// What only the program's makers want to know.
    package func debug(_ message: @autoclosure () -> String) { write(.debug, message) }

    /// Waits for the lines so far to be written, but no longer than that.
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
        // Without a thread to write them, the lines are lost; there is nobody to tell.
        if mustStart { _ = try? Thread(name: "log") { [self] in run() } }
        news.send(())
    }

    private func run() {
        while news.waitAndTakeAll() != nil {
            while let (lines, dropped) = takeLines() { writeOut(lines, dropped) }
        }
    }

    /// What waits to be written; nil, and idle, when there is nothing.
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
            // A closed standard error is no reason to stop, or to try again.
            guard let count = try? writeSome(bytes, to: descriptor), count > 0 else { return }
            bytes.removeFirst(count)
        }
    }

    /// One line with its end; what could break it into two, or move a terminal's cursor, is escaped.
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
