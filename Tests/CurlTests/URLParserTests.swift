import Curl
import Testing

struct URLParserTests {
    struct Accepted: Sendable {
        var text: String
        var absolute: String
        var host: String
        var port: Int
        var name: String
    }

    @Test(arguments: [
        Accepted(text: "http://example.org", absolute: "http://example.org/", host: "example.org", port: 80, name: ""),
        Accepted(
            text: "HTTPS://Example.ORG:8443/a/b.iso?x=1#part", absolute: "https://Example.ORG:8443/a/b.iso?x=1",
            host: "example.org", port: 8443, name: "b.iso"),
        Accepted(
            text: "http://h/a/./b/../c%20d.txt", absolute: "http://h/a/c%20d.txt",
            host: "h", port: 80, name: "c d.txt"),
        Accepted(text: "http://h/%2e%2e%2Fetc", absolute: "http://h/%2e%2e%2Fetc", host: "h", port: 80, name: "../etc"),
        Accepted(text: "http://h/100%", absolute: "http://h/100%", host: "h", port: 80, name: "100%"),
        Accepted(text: "http://h/dir/", absolute: "http://h/dir/", host: "h", port: 80, name: ""),
        Accepted(text: "http://[::1]:9/x", absolute: "http://[::1]:9/x", host: "[::1]", port: 9, name: "x"),
        Accepted(text: "http://h/é", absolute: "http://h/%c3%a9", host: "h", port: 80, name: "é"),
        Accepted(text: "http://h/x?", absolute: "http://h/x?", host: "h", port: 80, name: "x"),
        Accepted(text: "http://h?#f", absolute: "http://h/?", host: "h", port: 80, name: ""),
        Accepted(
            text: "http://u:p@B\u{fc}cher.example:81/x?", absolute: "http://xn--bcher-kva.example:81/x?",
            host: "xn--bcher-kva.example", port: 81, name: "x"),
        Accepted(text: "http://\u{ff11}0.1/x", absolute: "http://10.0.0.1/x", host: "10.0.0.1", port: 80, name: "x"),
        Accepted(text: "http://u:p@h/x", absolute: "http://h/x", host: "h", port: 80, name: "x"),
        Accepted(text: "https://h:443/x", absolute: "https://h:443/x", host: "h", port: 443, name: "x"),
    ])
    func `a URL is normalised`(_ expected: Accepted) throws {
        let url = try URLParser.parse(expected.text)
        #expect(url.absoluteString == expected.absolute)
        #expect(url.host == expected.host)
        #expect(url.port == expected.port)
        #expect(url.lastPathSegment == Array(expected.name.utf8))
    }

    @Test(arguments: [
        ("", URLError.Reason.empty),
        ("example.org/x", .noScheme),
        ("/x", .noScheme),
        ("ftp://h/x", .unsupportedScheme),
        ("file:///etc/passwd", .unsupportedScheme),
        ("h:80/x", .unsupportedScheme),
        ("http:x", .malformed),
        ("http:/h/x", .malformed),
        ("http:///etc/passwd", .noHost),
        ("http://", .noHost),
        ("http://?x", .noHost),
        ("http://:80/", .noHost),
        ("http://u@/", .noHost),
        ("http://h/a b", .illegalCharacter),
        (" http://h/", .illegalCharacter),
        ("http://h/\r\nX: y", .illegalCharacter),
        ("http://h/\u{0}", .illegalCharacter),
        ("http://h/\u{7f}", .illegalCharacter),
        ("http://h:0/", .badPort),
        ("http://h:65536/", .badPort),
        ("http://h:8x/", .badPort),
        ("http://[::1/", .badHost),
        ("http://-\u{fc}.example/", .badHost),
        ("http://\u{fc}..example/", .badHost),
        ("http://\u{2100}.example/", .badHost),
        ("http://\u{3002}/", .badHost),
        ("http://a\\b/", .badHost),
        ("http://h%0d%0a/", .badHost),
        ("http://u%0d%0a:p@h/", .badUserInfo),
        ("http://h/" + String(repeating: "x", count: 8_184), .tooLong),
    ])
    func `a text that is no http URL is refused with the reason`(_ text: String, _ reason: URLError.Reason) {
        let error = #expect(throws: URLError.self) { try URLParser.parse(text) }
        #expect(error?.reason == reason)
        #expect(error?.message.isEmpty == false)
    }

    @Test func `a URL of the longest length is taken`() throws {
        let text = "http://h/" + String(repeating: "x", count: 8_183)
        #expect(text.utf8.count == URLParser.maxByteCount)
        #expect(try URLParser.parse(text).absoluteString == text)
    }

    @Test(arguments: [
        ("http://h/", nil),
        ("http://u@h/", ParsedURL.UserInfo(user: "u", password: "")),
        ("http://u:p@h/", ParsedURL.UserInfo(user: "u", password: "p")),
        ("http://:p@h/", ParsedURL.UserInfo(user: "", password: "p")),
        ("http://a%40b:c%3Ad;x@h/", ParsedURL.UserInfo(user: "a@b", password: "c:d;x")),
    ])
    func `userinfo is split off and decoded`(_ text: String, _ expected: ParsedURL.UserInfo?) throws {
        let url = try URLParser.parse(text)
        #expect(url.userInfo == expected)
        #expect(url.hasUserInfo == (expected != nil))
        #expect(url.absoluteString == "http://h/")
    }

    @Test(arguments: [
        ("/x", "http://h:8080/x"),
        ("x", "http://h:8080/a/x"),
        ("../x?q#f", "http://h:8080/x?q"),
        ("//other/x", "http://other/x"),
        ("https://other/x", "https://other/x"),
        ("?q2", "http://h:8080/a/b?q2"),
        ("?", "http://h:8080/a/b?"),
        ("#f", "http://h:8080/a/b?q"),
        ("//b\u{fc}cher.example/x", "http://xn--bcher-kva.example/x"),
        ("/with blank", "http://h:8080/with%20blank"),
        ("  /x\t", "http://h:8080/x"),
        ("/é", "http://h:8080/%c3%a9"),
        ("http://h2/a:b", "http://h2/a:b"),
    ])
    func `a location is resolved against its base`(_ location: String, _ expected: String) throws {
        let base = try URLParser.parse("http://user:secret@h:8080/a/b?q")
        let url = try URLParser.resolve(location, against: base)
        #expect(url.absoluteString == expected)
        #expect(url.userInfo == nil)
    }

    @Test(arguments: [
        ("ftp://h/x", URLError.Reason.unsupportedScheme),
        ("file:///x", .unsupportedScheme),
        ("javascript:alert(1)", .unsupportedScheme),
        ("", .empty),
        ("   ", .empty),
        ("http:///x", .noHost),
        ("/a\u{0}b", .illegalCharacter),
        (String(repeating: "x", count: 8_193), .tooLong),
    ])
    func `a location that leads nowhere is refused`(_ location: String, _ reason: URLError.Reason) throws {
        let base = try URLParser.parse("http://h/a")
        let error = #expect(throws: URLError.self) { try URLParser.resolve(location, against: base) }
        #expect(error?.reason == reason)
    }

    @Test func `the origin compares scheme, host without case, and the port in effect`() throws {
        let origin = try URLParser.parse("https://Host/a").origin
        #expect(try URLParser.parse("https://host:443/b").origin == origin)
        #expect(try URLParser.parse("http://host:443/b").origin != origin)
        #expect(try URLParser.parse("https://host:444/b").origin != origin)
        #expect(try URLParser.parse("https://host./b").origin != origin)
    }
}
