internal import Core

/// How a download's options lie in its record: a line each, `name=value`.
///
/// Values hold no control characters (they are numbers, words, or header values that were checked), so that a line end
/// ends them. Unknown names are skipped and missing ones mean the default: records of other versions stay readable.
enum OptionsText {
    private enum Name: String, CaseIterable {
        case userAgent
        case onChange
        case resumePolicy
        case connectTimeoutMs
        case stallTimeoutMs
        case maxFileBytes
        case retryMaxAttempts
        case retryInitialDelayMs
        case retryMaxDelayMs
        case background
    }

    static func encode(_ options: DownloadOptions) -> String {
        let pairs = Name.allCases.compactMap { name in value(name, options).map { "\(name.rawValue)=\($0)" } }
        return pairs.joined(separator: "\n")
    }

    private static func value(_ name: Name, _ options: DownloadOptions) -> String? {
        switch name {
        case .userAgent: options.userAgent
        case .onChange: options.onChange.rawValue
        case .resumePolicy: options.resumePolicy.rawValue
        case .connectTimeoutMs: String(options.connectTimeoutMilliseconds)
        case .stallTimeoutMs: String(options.stallTimeoutMilliseconds)
        case .maxFileBytes: options.maxFileByteCount.map { String($0) }
        case .retryMaxAttempts: String(options.retry.maxAttempts)
        case .retryInitialDelayMs: String(options.retry.initialDelayMilliseconds)
        case .retryMaxDelayMs: String(options.retry.maxDelayMilliseconds)
        case .background: options.isBackground ? "1" : nil
        }
    }

    /// Just that, without reading the rest.
    static func isBackground(_ text: String) -> Bool {
        text.split(separator: "\n").contains("\(Name.background.rawValue)=1")
    }

    /// What the text says, on top of the defaults.
    static func decode(_ text: String) -> DownloadOptions {
        var options = DownloadOptions()
        for line in text.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "="), let name = Name(rawValue: String(line[..<equals])) else {
                continue
            }
            set(name, String(line[line.index(after: equals)...]), in: &options)
        }
        return options
    }

    private static func set(_ name: Name, _ value: String, in options: inout DownloadOptions) {
        let number = Int64(value).flatMap { $0 >= 0 ? $0 : nil }
        switch name {
        case .userAgent: options.userAgent = value
        case .onChange: options.onChange = OnChange(rawValue: value) ?? options.onChange
        case .resumePolicy: options.resumePolicy = ResumePolicy(rawValue: value) ?? options.resumePolicy
        case .connectTimeoutMs: options.connectTimeoutMilliseconds = number ?? options.connectTimeoutMilliseconds
        case .stallTimeoutMs: options.stallTimeoutMilliseconds = number ?? options.stallTimeoutMilliseconds
        case .maxFileBytes: options.maxFileByteCount = number
        case .retryMaxAttempts:
            options.retry.maxAttempts = number.map { Int(clamping: $0) } ?? options.retry.maxAttempts
        case .retryInitialDelayMs:
            options.retry.initialDelayMilliseconds = number ?? options.retry.initialDelayMilliseconds
        case .retryMaxDelayMs: options.retry.maxDelayMilliseconds = number ?? options.retry.maxDelayMilliseconds
        case .background: options.isBackground = value == "1"
        }
    }

    /// Header fields, a line each as they travel.
    static func encode(_ headers: [HeaderField]) -> String {
        headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    }

    static func decodeHeaders(_ text: String) -> [HeaderField] {
        text.split(separator: "\n").compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return HeaderField(String(line[..<colon]), String(value))
        }
    }
}
