extension ScriptedServer {
    /// One step of an answer.
    package enum Action: Sendable {
        case send([UInt8])
        /// Waits until the test has set the signal.
        case wait(Signal)
        /// Tells the test that this step was reached.
        case set(Signal)
        case delay(milliseconds: Int32)
        /// Sends nothing more; ends when the peer closes or the server stops.
        case stall
        /// Closes the connection normally (FIN).
        case close
        /// Resets the connection (RST).
        case reset

        package static func send(_ text: String) -> Action { .send(Array(text.utf8)) }
    }

    /// The steps for one request, created when the request has arrived.
    package struct Response: Sendable {
        let actions: @Sendable (Request) -> [Action]

        package init(_ actions: @escaping @Sendable (Request) -> [Action]) {
            self.actions = actions
        }

        /// These steps; the connection stays open afterwards unless a step ends it.
        package static func script(_ actions: [Action]) -> Response { Response { _ in actions } }

        /// Exactly these bytes, then the end of the connection.
        package static func raw(_ text: String) -> Response { script([.send(text), .close]) }
        package static func raw(_ bytes: [UInt8]) -> Response { script([.send(bytes), .close]) }

        /// A whole response with a Content-Length.
        package static func status(
            _ code: Int, fields: [(String, String)] = [], body: [UInt8] = []
        ) -> Response {
            script([.send(head(code, fields + [("Content-Length", "\(body.count)")])), .send(body)])
        }

        package static func redirect(to location: String, status code: Int = 302) -> Response {
            status(code, fields: [("Location", location)])
        }

        package static var stall: Response { script([.stall]) }
        package static var close: Response { script([.close]) }
        package static var reset: Response { script([.reset]) }

        /// A file as a good server sends it; the closure can spoil it.
        package static func file(
            _ bytes: [UInt8],
            etag: String? = nil,
            lastModified: String? = nil,
            _ configure: (inout ServedFile) -> Void = { _ in }
        ) -> Response {
            var file = ServedFile(bytes: bytes, etag: etag, lastModified: lastModified)
            configure(&file)
            return Response { [file] request in file.actions(for: request) }
        }

        /// Status line and fields with the empty line.
        package static func head(_ code: Int, _ fields: [(String, String)]) -> String {
            let lines = ["HTTP/1.1 \(code) Status"] + fields.map { "\($0.0): \($0.1)" }
            return lines.joined(separator: "\r\n") + "\r\n\r\n"
        }
    }
}
