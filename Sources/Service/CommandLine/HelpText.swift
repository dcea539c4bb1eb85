extension CommandLineParser {
    /// What `--help` prints.
    package static var help: String {
        let heads = table.map { option in option.valueName.map { "\(option.name) \($0)" } ?? option.name }
        // Heads longer than this get a line of their own.
        let width = 30
        var text = shortHelp + "\n\nOptions:\n"
        for (option, head) in zip(table, heads) {
            if head.utf8.count > width {
                text += "  \(head)\n  \(String(repeating: " ", count: width))  \(option.help)\n"
            } else {
                text += "  \(head)\(String(repeating: " ", count: width - head.utf8.count))  \(option.help)\n"
            }
        }
        text += """

            Exit codes: 0 done, 1 a download or request failed, 64 usage, 65 unreadable input, 70 internal error,
            73 state directory unusable, 74 standard input or output unusable, 78 bad configuration,
            128+n ended by signal n, 141 nobody reads standard output.

            """
        return text
    }

    /// Printed when standard input is a terminal and no argument is given.
    package static let shortHelp = """
        usage: towline [options]
        A download service for programs: JSON-RPC 2.0, one message a line, on standard input and output.

          printf '%s\\n' '{"jsonrpc":"2.0","id":1,"method":"start","params":{"url":"https://h.example/f"}}' | towline

        Run 'towline --help' for all options.
        """
}
