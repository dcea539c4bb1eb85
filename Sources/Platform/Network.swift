internal import CPlatform
internal import Glibc

/// The target of a connection: an IPv4 or IPv6 address and a port.
package struct SocketAddress: Equatable, Sendable {
    /// A struct sockaddr_in or sockaddr_in6.
    private let bytes: [UInt8]

    /// Nil for another family, and for too few bytes.
    package init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= MemoryLayout<sa_family_t>.size else { return nil }
        let family = unsafe Int32(address.loadUnaligned(as: sa_family_t.self))
        let count = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
        guard family == AF_INET || family == AF_INET6, address.count >= count else { return nil }
        bytes = unsafe Array(address.prefix(count))
    }

    /// Nil for text that is not a numeric address.  C: inet_pton(3)
    package init?(numeric text: String, port: Int) {
        guard let port = UInt16(exactly: port) else { return nil }
        var four = sockaddr_in()
        var six = sockaddr_in6()
        let bytes: [UInt8]
        if unsafe inet_pton(AF_INET, text, &four.sin_addr) == 1 {
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            bytes = unsafe withUnsafeBytes(of: &four) { unsafe Array($0) }
        } else if unsafe inet_pton(AF_INET6, text, &six.sin6_addr) == 1 {
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            bytes = unsafe withUnsafeBytes(of: &six) { unsafe Array($0) }
        } else {
            return nil
        }
        self.bytes = bytes
    }

    /// The port is in the two bytes after the family, in both families.
    package var port: Int { Int(bytes[2]) << 8 | Int(bytes[3]) }

    /// Whether there is a route to the address through an interface that is up and has a carrier, or the address is
    /// this machine's; nil when unknown.
    ///
    /// Nothing is sent.
    package var hasRoute: Bool? {
        switch unsafe bytes.withUnsafeBytes({ bytes in
            unsafe bytes.baseAddress.map { unsafe cplatform_has_route($0, bytes.count) }
        }) {
        case 0: false
        case 1: true
        default: nil
        }
    }
}

/// Whether the routes of this system lead to the internet.
///
/// Checks routes to fixed addresses, those of root name servers, because a tunnel may replace the default route by two
/// halves, or a rule may use a routing table of its own. Nothing is sent to them.
package func hasDefaultRoute() -> Bool {
    ["198.41.0.4", "193.0.14.129", "2001:503:ba3e::2:30", "2001:7fd::1"].contains { text in
        SocketAddress(numeric: text, port: 53)?.hasRoute == true
    }
}

/// Reports changes of links, addresses, routes or rules of this system.  Isolation: any thread.  C: rtnetlink(7)
package final class NetworkWatch: Sendable {
    private let descriptor: FileDescriptor
    /// For poll(2).
    package var raw: Int32 { descriptor.raw }

    /// Nil when the system does not allow it.
    package init?() {
        let raw = cplatform_network_watch()
        if raw < 0 { return nil }
        descriptor = FileDescriptor(owning: raw)
    }

    /// True when something changed since the last call.
    package func takeNews() -> Bool { cplatform_drain(raw) }
}
