import Core
import JSON
import RPC
import Testing

@testable import Service

@Suite struct OptionReadingTests {
    private func apply(_ text: String, to options: DownloadOptions = DownloadOptions()) throws -> DownloadOptions {
        var options = options
        try options.apply(defaults: try #require(try parseJSON(text).object), at: "")
        return options
    }

    @Test func `a header replaces a preset one whatever its case, and leaves the others`() throws {
        var preset = DownloadOptions()
        preset.headers = [HeaderField("accept", "a"), HeaderField("X-Key", "old")]
        let options = try apply(#"{"headers":{"x-key":"new"}}"#, to: preset)
        #expect(options.headers == [HeaderField("accept", "a"), HeaderField("x-key", "new")])
    }

    @Test(arguments: [
        #"{"headers":{"A b":"x"}}"#, #"{"headers":{"A":"x\r\nB: secret"}}"#, #"{"headers":{"Range":"bytes=0-"}}"#,
        #"{"headers":{"A":"x","a":"y"}}"#,
    ])
    func `a header that may not be sent is refused without its value`(text: String) throws {
        let error = #expect(throws: RPCError.self) { try apply(text) }
        #expect(error?.data["path"] == "params.headers")
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `a lower cap on the wait lowers the first wait too`() throws {
        let retry = try apply(#"{"retry":{"maxDelayMs":100}}"#).retry
        #expect(retry.initialDelayMilliseconds == 100 && retry.maxDelayMilliseconds == 100)
    }

    @Test func `a first wait above the cap is refused`() throws {
        let error = #expect(throws: RPCError.self) { try apply(#"{"retry":{"initialDelayMs":9,"maxDelayMs":5}}"#) }
        #expect(error?.data["path"] == "params.retry.initialDelayMs")
    }

    @Test func `the settings in force fit what configure promises`() throws {
        let options = try apply(#"{"headers":{"A":"b"},"userAgent":"x"}"#)
        let schema = Schema.object(Parameter.defaults, isClosed: true)
        let encoded = JSONValue.object(options.encodedDefaults())
        #expect(try schema.checked(encoded, at: "defaults") == encoded)
    }

    @Test(arguments: [("sha256", 64), ("sha512", 128), ("sha1", 40), ("md5", 32)])
    func `a digest has the length of its algorithm, in either case`(name: String, count: Int) throws {
        let value = String(repeating: "A", count: count)
        let checksum = try Checksum(["algorithm": .string(name), "value": .string(value)], at: "checksum")
        #expect(checksum.value == value.lowercased())
        #expect(throws: RPCError.self) {
            try Checksum(["algorithm": .string(name), "value": .string(value + "0")], at: "checksum")
        }
        #expect(throws: RPCError.self) {
            try Checksum(
                ["algorithm": .string(name), "value": .string(String(value.dropLast()) + "g")], at: "checksum")
        }
    }
}

@Suite struct LogLineTests {
    @Test func `a line stays one line, in text and in JSON`() {
        let text = Log.line(.warn, "a\nb\u{1B}[31m", .text, unixMilliseconds: 0)
        #expect(text == "1970-01-01T00:00:00.000Z warn a\\u{a}b\\u{1b}[31m\n")
        let json = Log.line(.error, "a\n\"b\"", .json, unixMilliseconds: 0)
        #expect(json == #"{"time":"1970-01-01T00:00:00.000Z","level":"error","message":"a\n\"b\""}"# + "\n")
    }

    @Test func `a long message is cut`() {
        let line = Log.line(.info, String(repeating: "é", count: 100_000), .text, unixMilliseconds: 0)
        #expect(line.utf8.count < 5_000)
    }
}
