internal import CPlatform
internal import Glibc

/// Where a connection leads: an IPv4 or IPv6 address and a port.
package struct SocketAddress: Equatable, Sendable {
    /// A struct sockaddr_in or sockaddr_in6.
    private let bytes: [UInt8]

    /// Nil for any other family, and for fewer bytes than its address has.
    package init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= MemoryLayout<sa_family_t>.size else { return nil }
        let family = unsafe Int32(address.loadUnaligned(as: sa_family_t.self))
        let count = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
        guard family == AF_INET || family == AF_INET6, address.count >= count else { return nil }
        bytes = unsafe Array(address.prefix(count))
    }

    /// Nil for what is no address in numbers.  C: inet_pton(3)
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

    /// The port: of both families the two bytes after the family's.
    package var port: Int { Int(bytes[2]) << 8 | Int(bytes[3]) }

    /// Whether the system knows a way there by an interface that is up and has a carrier, or is there itself; nil when it
    /// cannot be told.
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

/// Whether there is a way into the internet, as far as the routes of this system tell.
///
/// They are asked for addresses that do not change, those of root name servers: a tunnel may stand for the default route by
/// two halves, and a rule may lead to a table of its own. Nothing is sent to them.
package func hasDefaultRoute() -> Bool {
    ["198.41.0.4", "193.0.14.129", "2001:503:ba3e::2:30", "2001:7fd::1"].contains { text in
        SocketAddress(numeric: text, port: 53)?.hasRoute == true
    }
}

/// Tells that links, addresses, routes or rules of this system changed.  Isolation: any thread.  C: rtnetlink(7)
package final class NetworkWatch: Sendable {
    private let descriptor: FileDescriptor
    /// For poll(2).
    package var raw: Int32 { descriptor.raw }

    /// Nil where the system lets nobody watch.
    package init?() {
        let raw = cplatform_network_watch()
        if raw < 0 { return nil }
        descriptor = FileDescriptor(owning: raw)
    }

    /// True when something changed since the last call.
    package func takeNews() -> Bool { cplatform_drain(raw) }
}
