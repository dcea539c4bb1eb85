extension ScriptedServer {
    /// A request as received.
    package struct Request: Sendable {
        /// Numbers all requests of the server from 0, in the order in which their heads were complete.
        package var index = 0
        /// The number of earlier requests for the same target.
        package var occurrence = 0
        /// Numbers the connections from 0.
        package var connection = 0
        package var method = ""
        /// Path and query.
        package var target = ""
        package var version = ""
        package var fields: [(name: String, value: String)] = []

        /// The first field with that name; case is ignored.
        package func value(_ name: String) -> String? { values(name).first }

        package func values(_ name: String) -> [String] {
            fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }

        package var path: String { String(target.prefix { $0 != "?" }) }

        /// True when the client will not send another request on this connection.
        var endsConnection: Bool {
            value("Connection")?.lowercased() == "close" || version == "HTTP/1.0"
        }

        /// Nil for a head that is not an HTTP/1 request.
        init?(head: [UInt8]) {
            var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")[...]
            let start = lines.popFirst()?.split(separator: " ").map(String.init) ?? []
            guard start.count == 3 else { return nil }
            (method, target, version) = (start[0], start[1], start[2])
            for line in lines {
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { return nil }
                let value = parts[1].drop { $0 == " " }
                fields.append((name: String(parts[0]), value: String(value)))
            }
        }
    }
}
