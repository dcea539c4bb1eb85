internal import Core

/// The format of a download's options in its record and in resume data: one per line, `name=value`.
///
/// Values contain no control characters (they are numbers, words, or header values that were checked), so that a line
/// end ends them. Unknown names are skipped and missing ones mean the default: records of other versions stay readable.
enum OptionsText {
    enum Name: String, CaseIterable {
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
        case createDirectories

        /// The range of a number; nil if the value is not a number. The same as in `start`.
        var limits: ClosedRange<Int64>? {
            switch self {
            case .connectTimeoutMs, .stallTimeoutMs, .retryInitialDelayMs, .retryMaxDelayMs: Limits.delayMilliseconds
            case .maxFileBytes: 0...Limits.fileByteCount
            case .retryMaxAttempts: Limits.retryAttemptCount
            case .userAgent, .onChange, .resumePolicy, .background, .createDirectories: nil
            }
        }
    }

    /// A value that `start` would refuse.
    struct Violation: Error, Equatable {
        var name: Name
        var problem: String
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
        case .createDirectories: options.createsDirectories ? "1" : nil
        }
    }

    private static let fileModified = "fileModifiedNs"

    /// Adds the modification time of the finished file to the text, in nanoseconds since 1970.
    static func noting(fileModifiedNanoseconds time: Int64?, in text: String) -> String {
        var lines = text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("\(fileModified)=") }
        if let time { lines.append("\(fileModified)=\(time)") }
        return lines.joined(separator: "\n")
    }

    /// That time; nil if it is not in the text.
    static func fileModifiedNanoseconds(_ text: String) -> Int64? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(fileModified)=") }
        return line.flatMap { Int64($0.dropFirst(fileModified.utf8.count + 1)) }
    }

    /// Only this option, without parsing the rest.
    static func isBackground(_ text: String) -> Bool {
        text.split(separator: "\n").contains("\(Name.background.rawValue)=1")
    }

    /// Parses the options of our own record: numbers are clamped to their limits, and the default replaces what cannot
    /// be parsed.
    static func decode(_ text: String) -> DownloadOptions {
        var options = DownloadOptions()
        for (name, value) in pairs(text) {
            if let limits = name.limits, let number = Int64(value), number > limits.upperBound {
                set(name, String(limits.upperBound), in: &options)
            } else if violation(name, value) == nil {
                set(name, value, in: &options)
            }
        }
        options.retry.initialDelayMilliseconds = min(
            options.retry.initialDelayMilliseconds, options.retry.maxDelayMilliseconds)
        return options
    }

    /// Parses a text from outside; throws for everything that `start` would refuse.
    static func read(_ text: String) throws(Violation) -> DownloadOptions {
        var options = DownloadOptions()
        for (name, value) in pairs(text) {
            if let violation = violation(name, value) { throw violation }
            set(name, value, in: &options)
        }
        if options.retry.initialDelayMilliseconds > options.retry.maxDelayMilliseconds {
            throw Violation(
                name: .retryInitialDelayMs, problem: "expected at most \(options.retry.maxDelayMilliseconds)")
        }
        return options
    }

    private static func pairs(_ text: String) -> [(Name, String)] {
        text.split(separator: "\n").compactMap { (line: Substring) -> (Name, String)? in
            guard let equals = line.firstIndex(of: "="), let name = Name(rawValue: String(line[..<equals])) else {
                return nil
            }
            return (name, String(line[line.index(after: equals)...]))
        }
    }

    private static func violation(_ name: Name, _ value: String) -> Violation? {
        if let limits = name.limits {
            if let number = Int64(value), limits.contains(number) { return nil }
            return Violation(name: name, problem: "expected \(limits.lowerBound) to \(limits.upperBound)")
        }
        guard name == .userAgent else { return nil }
        if (1...Limits.userAgentByteCount).contains(value.utf8.count), HTTPGrammar.isFieldValue(value) { return nil }
        return Violation(
            name: name, problem: "expected 1 to \(Limits.userAgentByteCount) bytes without control characters")
    }

    private static func set(_ name: Name, _ value: String, in options: inout DownloadOptions) {
        let number = Int64(value)
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
        case .createDirectories: options.createsDirectories = value == "1"
        }
    }

    /// Header fields, one per line as in HTTP.
    static func encode(_ headers: [HeaderField]) -> String {
        headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    }

    /// Fields that no host may set are left out, whatever the record contains.
    static func decodeHeaders(_ text: String) -> [HeaderField] {
        let fields = text.split(separator: "\n").compactMap { line -> HeaderField? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return HeaderField(String(line[..<colon]), String(value))
        }
        return fields.filter { field in (try? HeaderRules.validate([field])) != nil }
    }
}
