import Platform
import Testing

struct NetworkTests {
    @Test(arguments: ["127.0.0.1", "0.0.0.0", "::1", "fe80::1", "::ffff:10.0.0.1"])
    func `an address in numbers keeps its port`(text: String) throws {
        for port in [0, 1, 443, 65_535] { #expect(SocketAddress(numeric: text, port: port)?.port == port) }
        #expect(SocketAddress(numeric: text, port: 1) != SocketAddress(numeric: text, port: 2))
    }

    @Test(arguments: ["", "localhost", "127.0.0.1:80", "[::1]", "1.2.3", "fe80::1%lo"])
    func `what is no address in numbers is none`(text: String) {
        #expect(SocketAddress(numeric: text, port: 80) == nil)
    }

    @Test(arguments: [-1, 65_536, .max, .min])
    func `a port out of range is none`(port: Int) {
        #expect(SocketAddress(numeric: "127.0.0.1", port: port) == nil)
    }

    @Test(arguments: 0..<28)
    func `fewer bytes than an address has are none`(count: Int) {
        for family: UInt8 in [2, 10, 0, 1] {
            var bytes = [UInt8](repeating: 0, count: count)
            if count > 0 { bytes[0] = family }
            let isWhole = (family == 2 && count >= 16) || (family == 10 && count >= 28)
            let address = unsafe bytes.withUnsafeBytes { unsafe SocketAddress($0) }
            #expect((address != nil) == isWhole)
        }
    }

    @Test func `this machine can be reached`() throws {
        #expect(try #require(SocketAddress(numeric: "127.0.0.1", port: 80)).hasRoute == true)
    }

    @Test func `the time that the system was suspended does not move by itself`() {
        let first = suspendedNanoseconds()
        #expect(abs(suspendedNanoseconds() - first) < 500_000_000)
    }
}
