import Core
import Foundation
import Platform
import TestSupport
import Testing

@testable import Curl

/// Bodies that a server compressed without being asked.
struct ContentDecodingTests {
    /// Half noise, half highly compressible.
    private static let text: [UInt8] = {
        var random = RandomBytes(seed: 11)
        return random.bytes(300_000) + [UInt8](repeating: 7, count: 300_000)
    }()

    /// The bytes compressed by gzip(1).
    private static func gzipped(_ bytes: [UInt8]) throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/plain"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let gzip = Process()
        gzip.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        gzip.arguments = ["gzip", "-n", path]
        try gzip.run()
        gzip.waitUntilExit()
        return try Array(Data(contentsOf: URL(fileURLWithPath: path + ".gz")))
    }

    /// "hello hello hello hello" in RFC 1950 and in RFC 1951, by Python's zlib.
    private static let hello = Array("hello hello hello hello".utf8)
    private static let zlibHello: [UInt8] = [
        0x78, 0xda, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01, 0x68, 0x03, 0x08, 0xb1,
    ]
    private static var rawHello: [UInt8] { Array(zlibHello.dropFirst(2).dropLast(4)) }

    private static func serve(_ body: [UInt8], coding: String = "gzip") throws -> ScriptedServer {
        try ScriptedServer { _ in .status(200, fields: [("Content-Encoding", coding)], body: body) }
    }

    // MARK: - The decoder alone

    /// Decodes as a transfer does: a refused piece is passed again.
    private static func decode(
        _ bytes: [UInt8], _ coding: ContentCoding.Compression = .gzip, pieceByteCount: Int, bufferByteCount: Int
    ) throws -> (body: [UInt8], isAtEnd: Bool) {
        let decoder = ContentDecoder(coding)
        var buffers = BodyBuffers()
        var body: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
            let piece = bytes[start..<min(start + pieceByteCount, bytes.count)]
            while true {
                if try piece.withUnsafeBytes({ try decoder.decode($0, into: &buffers) }) { break }
                for buffer in buffers.takeFull() {
                    buffer.withBytes { held in held.withUnsafeBytes { body += $0 } }
                }
                buffers.give(IOBuffer(capacity: bufferByteCount))
            }
        }
        var rest = buffers.takeFull()
        if let current = buffers.takeCurrent() { rest.append(current) }
        for buffer in rest { buffer.withBytes { held in held.withUnsafeBytes { body += $0 } } }
        return (body, decoder.isAtEnd)
    }

    @Test(arguments: [1, 2, 3, 10, 1_000, 16_384], [1, 7, 1_000, 16_384, 131_072])
    func `pieces and buffers of any size give the same bytes`(_ pieceByteCount: Int, _ bufferByteCount: Int) throws {
        // Less text for smaller steps.
        let text = Self.text.suffix(min(600_000, 400_000 + 20 * pieceByteCount * bufferByteCount) - 300_000)
        let made = try Self.decode(
            Self.gzipped(Array(text)), pieceByteCount: pieceByteCount, bufferByteCount: bufferByteCount)
        #expect(made.body == Array(text))
        #expect(made.isAtEnd)
    }

    @Test func `every cut is noticed, and gives the beginning at most`() throws {
        let whole = try Self.gzipped(Self.hello)
        for byteCount in 0..<whole.count {
            let made = try Self.decode(Array(whole.prefix(byteCount)), pieceByteCount: 5, bufferByteCount: 100)
            #expect(!made.isAtEnd, "\(byteCount)")
            #expect(Self.hello.starts(with: made.body))
        }
    }

    @Test func `every flipped bit of the data or its checksum is noticed`() throws {
        let whole = try Self.gzipped(Self.hello)
        // The header says when and by what the stream was made; flips there change nothing.
        for index in 10..<whole.count {
            for bit in 0..<8 {
                var damaged = whole
                damaged[index] ^= 1 << bit
                let made = try? Self.decode(damaged, pieceByteCount: 1_000, bufferByteCount: 100)
                #expect(made.map { !$0.isAtEnd || $0.body == Self.hello } ?? true, "\(index) \(bit)")
            }
        }
    }

    @Test(arguments: [1, 1_000])
    func `members follow each other, and padding is passed over`(_ pieceByteCount: Int) throws {
        let one = try Self.gzipped(Array("one ".utf8))
        let two = try Self.gzipped(Array("two".utf8))
        let made = try Self.decode(one + two + [0, 0, 0x1f], pieceByteCount: pieceByteCount, bufferByteCount: 2)
        #expect(made.body == Array("one two".utf8))
        #expect(made.isAtEnd)
    }

    @Test(arguments: [1, 1_000])
    func `deflate is taken with its wrapping and without`(_ pieceByteCount: Int) throws {
        for bytes in [Self.zlibHello, Self.rawHello] {
            let made = try Self.decode(bytes, .deflate, pieceByteCount: pieceByteCount, bufferByteCount: 3)
            #expect(made.body == Self.hello)
            #expect(made.isAtEnd)
        }
    }

    // MARK: - Transfers

    @Test(arguments: [
        Fetcher.Plan(bufferCount: 2, bufferByteCount: 64 * 1024),
        Fetcher.Plan(bufferCount: 2, bufferByteCount: 16_384 + 1_000, returnsBuffersLater: true),
        Fetcher.Plan(bufferCount: 1, bufferByteCount: 20_000),
    ])
    func `a compressed body goes through few buffers byte for byte`(_ plan: Fetcher.Plan) async throws {
        let server = try Self.serve(Self.gzipped(Self.text))
        let fetched = try await Client().fetch(server.url("/"), plan: plan)
        #expect(fetched.outcome == .finished)
        #expect(fetched.body == Self.text)
        #expect(fetched.pauseCount > 0)
    }

    /// 40 MB compressed to about 40 KB: more than libcurl would keep of a paused transfer, decoded with two buffers at
    /// a time.
    @Test func `a body that grows a thousandfold does not outgrow the buffers`() async throws {
        let text = [UInt8](repeating: 0, count: 40 << 20)
        let server = try Self.serve(Self.gzipped(text))
        let fetched = try await Client().fetch(
            server.url("/"), plan: Fetcher.Plan(bufferCount: 2, bufferByteCount: 64 * 1024, returnsBuffersLater: true))
        #expect(fetched.outcome == .finished)
        #expect(fetched.body == text)
    }

    @Test func `a stream that was cut is incomplete though all of the response came`() async throws {
        let server = try Self.serve(Self.gzipped(Self.text).dropLast(9))
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.failure?.kind == .incomplete)
        #expect(fetched.failure?.isRetryable == true)
    }

    @Test func `a damaged stream is no body`() async throws {
        var body = try Self.gzipped(Self.text)
        body[body.count - 6] ^= 1
        let damaged = try Self.serve(body)
        let fetched = try await Client().fetch(damaged.url("/"))
        #expect(fetched.failure?.kind == .protocol)
        let plain = try Self.serve(Array("not gzip".utf8))
        #expect(try await Client().fetch(plain.url("/")).failure?.kind == .protocol)
    }

    @Test func `an empty body has nothing to decode`() async throws {
        let server = try Self.serve([])
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.outcome == .finished)
        #expect(fetched.body.isEmpty)
    }

    @Test func `the limit counts what was decoded`() async throws {
        let server = try Self.serve(Self.gzipped(Self.text))
        let fetched = try await Client().fetch(server.url("/"), plan: Fetcher.Plan(bodyLimit: 400_000))
        #expect(fetched.exceededLimit)
        #expect(fetched.body == Array(Self.text.prefix(400_000)))
    }

    /// A file that is itself compressed, a part, and codings that cannot be undone.
    @Test(arguments: [("/a.tar.gz", 200, "gzip"), ("/a", 206, "gzip"), ("/a", 200, "br"), ("/a", 200, "gzip, gzip")])
    func `other bodies stay as they come`(_ path: String, _ status: Int, _ coding: String) async throws {
        let body = try Self.gzipped(Self.hello)
        let server = try ScriptedServer { _ in .status(status, fields: [("Content-Encoding", coding)], body: body) }
        let fetched = try await Client().fetch(server.url(path))
        #expect(fetched.outcome == .finished)
        #expect(fetched.body == body)
    }
}
