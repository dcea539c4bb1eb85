@testable import Engine
import Core
import Files
import Platform
import Testing
import TestSupport

/// The two inputs from which options and numbers are read again: resume data, and the text in a record.
@Suite(.timeLimit(.minutes(1)))
struct ResumeDataTests {
    private let key = [UInt8](repeating: 7, count: 32)

    private func data() -> ResumeData {
        var options = DownloadOptions()
        options.userAgent = "agent/1 (ä)"
        options.maxFileByteCount = Limits.fileByteCount
        options.stallTimeoutMilliseconds = 86_400_000
        options.retry = RetryOptions(maxAttempts: 1_000_000, initialDelayMilliseconds: 1, maxDelayMilliseconds: 1)
        options.checksum = Checksum(algorithm: .md5, value: String(repeating: "0a", count: 16))
        options.ifExists = .rename
        return ResumeData(
            url: "http://h/x%20y&z",
            isURLWhole: true,
            path: "/ä/=&%",
            directory: nil,
            options: options,
            entity: Entity(totalByteCount: 2_000, etag: "\"ü=&\"", lastModified: "x", isHTTP11: false),
            suggestedFileName: "name.bin",
            held: ResumeData.Held(
                path: "/ä/=&%.towline",
                identity: FileIdentity(device: .max, inode: .max),
                birthNanoseconds: .min,
                durable: ByteRangeSet(0, 1_000),
                written: ByteRangeSet([ByteRange(0, 1_500), ByteRange(1_999, 2_000)].compactMap { $0 }),
                bootID: "boot",
                mountID: .max
            )
        )
    }

    @Test func `what is written is read, and its key knows it again`() throws {
        let text = try #require(data().encoded(key: key))
        var read = try ResumeData(text)
        #expect(read.isSigned(with: key))
        #expect(!read.isSigned(with: [UInt8](repeating: 8, count: 32)))
        #expect(!read.isSigned(with: []))
        read.signature = ResumeData.Signature()
        #expect(read == data())
        #expect(!read.isSigned(with: key), "what was not read from a text is signed by nobody")
    }

    @Test func `whoever changes a value needs the key`() throws {
        let text = try #require(data().encoded(key: key))
        let body = text.components(before: "&sha256=")
        for (old, new) in [
            ("name.bin", "name.exe"), ("0-1000", "0-1001"), ("http%3A//h", "http%3A//i"), ("h/x", "i/x"),
        ]
        where body.contains(old) {
            let changed = body.replacing(old, with: new)
            let digest = try #require(sha256(Array(changed.utf8)))
            #expect(try !ResumeData(changed + "&sha256=" + digest).isSigned(with: key))
        }
        let unsigned = body.components(before: "&mac=")
        let digest = try #require(sha256(Array(unsigned.utf8)))
        let read = try ResumeData(unsigned + "&sha256=" + digest)
        #expect(!read.isSigned(with: key))
        #expect(!read.isSigned(with: []))
    }

    /// Random damage with a matching digest: reading either returns values within the limits, or throws.
    @Test func `no text traps, and none brings what start would refuse`() throws {
        var random = RandomBytes(seed: 20)
        let text = try #require(data().encoded(key: key)).components(before: "&mac=")
        let numbers = ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "-1", "0", "", "x", "1e9"]
        var readCount = 0
        for _ in 0..<4_000 {
            var pairs = text.split(separator: "&").map(String.init)
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let index = Int.random(in: 1..<pairs.count, using: &random)
                let name = pairs[index].components(before: "=")
                let value = numbers.randomElement(using: &random) ?? ""
                switch Int.random(in: 0..<5, using: &random) {
                case 0: pairs[index] = name + "=" + value
                case 1: pairs[index] = name + "=0-" + value
                case 2:
                    let option = OptionsText.Name.allCases.randomElement(using: &random)?.rawValue ?? ""
                    pairs.append("options=\(option)%3D\(value)")
                case 3: pairs.append(pairs[index])
                default:
                    var bytes = Array(pairs[index].utf8)
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[place] = UInt8.random(in: 0x21...0x7e, using: &random)
                    pairs[index] = String(decoding: bytes, as: UTF8.self)
                }
            }
            let changed = pairs.joined(separator: "&")
            let digest = try #require(sha256(Array(changed.utf8)))
            guard let read = try? ResumeData(changed + "&sha256=" + digest) else { continue }
            readCount += 1
            check(read)
        }
        #expect(readCount > 500)
    }

    private func check(_ data: ResumeData) {
        check(data.options)
        let total = data.entity?.totalByteCount ?? Limits.fileByteCount
        #expect((0...Limits.fileByteCount).contains(total))
        for ranges in [data.held?.durable, data.held?.written] {
            #expect((ranges?.ranges.last?.upperBound ?? 0) <= total)
        }
        #expect(data.held?.path.hasSuffix(".towline") ?? true)
        #expect(data.suggestedFileName?.contains("/") != true)
        #expect(!data.isSigned(with: key))
    }

    private func check(_ options: DownloadOptions) {
        let delays = [
            options.connectTimeoutMilliseconds, options.stallTimeoutMilliseconds,
            options.retry.initialDelayMilliseconds, options.retry.maxDelayMilliseconds,
        ]
        #expect(delays.allSatisfy(Limits.delayMilliseconds.contains))
        #expect(Limits.retryAttemptCount.contains(Int64(options.retry.maxAttempts)))
        #expect((0...Limits.fileByteCount).contains(options.maxFileByteCount ?? 0))
        #expect(options.retry.initialDelayMilliseconds <= options.retry.maxDelayMilliseconds)
        #expect(options.userAgent.map { HTTPGrammar.isFieldValue($0) && $0.utf8.count <= 1_024 } ?? true)
    }

    @Test func `a record's options are mended one by one`() throws {
        let mended = OptionsText.decode(
            "stallTimeoutMs=9223372036854775807\nconnectTimeoutMs=-1\nretryMaxAttempts=99999999999999999999\n"
                + "retryInitialDelayMs=90000\nuserAgent=a\u{1}b\nonChange=fail\nnew=1\nresumePolicy=none")
        #expect(mended.stallTimeoutMilliseconds == 86_400_000)
        #expect(mended.connectTimeoutMilliseconds == DownloadOptions().connectTimeoutMilliseconds)
        #expect(mended.retry.maxAttempts == RetryOptions().maxAttempts)
        #expect(mended.retry.initialDelayMilliseconds == mended.retry.maxDelayMilliseconds)
        #expect(mended.userAgent == nil && mended.onChange == .fail && mended.resumePolicy == .strict)
        #expect(throws: OptionsText.Violation.self) { try OptionsText.read("stallTimeoutMs=9223372036854775807") }
        #expect(
            try OptionsText.read(OptionsText.encode(data().options))
                == OptionsText.decode(OptionsText.encode(data().options)))
    }

    @Test func `no text of options traps`() {
        var random = RandomBytes(seed: 21)
        for _ in 0..<5_000 {
            var text = ""
            for _ in 0..<4 {
                text += OptionsText.Name.allCases.randomElement(using: &random)?.rawValue ?? ""
                text +=
                    "=\(Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random))\n"
            }
            check(OptionsText.decode(text))
            if let read = try? OptionsText.read(text) { check(read) }
        }
    }

    @Test func `an authentication code is that of RFC 4231`() {
        #expect(
            hmacSHA256(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            hmacSHA256(Array("Hi There".utf8), key: [UInt8](repeating: 0x0b, count: 20))
                == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    }
}

extension String {
    fileprivate func components(before mark: String) -> String {
        guard let range = ranges(of: mark).last else { return self }
        return String(self[..<range.lowerBound])
    }
}
