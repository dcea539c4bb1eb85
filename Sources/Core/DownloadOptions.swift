/// What to do when the destination is taken.
package enum IfExists: String, Sendable, CaseIterable {
    case error
    case overwrite
    case rename
    case skip
}

/// What to do when the server's file is no longer the one that part of is held.
package enum OnChange: String, Sendable, CaseIterable {
    case restart
    case fail
    case keepBoth
}

/// How much proof a resume needs.
package enum ResumePolicy: String, Sendable, CaseIterable {
    case strict
    case probe
    case trust
}

/// When to give up, and how long to wait before trying again.
package struct RetryOptions: Equatable, Sendable {
    /// Failures in a row, without a byte gained between them, before the download fails; 0 never tries again.
    package var maxAttempts: Int
    package var initialDelayMilliseconds: Int64
    package var maxDelayMilliseconds: Int64

    package init(maxAttempts: Int = 10, initialDelayMilliseconds: Int64 = 500, maxDelayMilliseconds: Int64 = 60_000) {
        self.maxAttempts = maxAttempts
        self.initialDelayMilliseconds = initialDelayMilliseconds
        self.maxDelayMilliseconds = maxDelayMilliseconds
    }
}

/// One header field to send.
package struct HeaderField: Equatable, Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The digest that the finished file must have.
package struct Checksum: Equatable, Hashable, Sendable {
    package enum Algorithm: String, Sendable, CaseIterable {
        case sha256
        case sha512
        case sha1
        case md5

        /// How many hexadecimal digits a value has.
        package var hexDigitCount: Int {
            switch self {
            case .sha256: 64
            case .sha512: 128
            case .sha1: 40
            case .md5: 32
            }
        }
    }
    package var algorithm: Algorithm
    /// Lower-case hexadecimal.
    package var value: String

    package init(algorithm: Algorithm, value: String) {
        self.algorithm = algorithm
        self.value = value
    }
}

/// The options a download started with, defaults filled in; its record keeps them.
package struct DownloadOptions: Equatable, Sendable {
    package var headers: [HeaderField] = []
    package var userAgent: String?
    package var ifExists = IfExists.error
    package var onChange = OnChange.restart
    package var resumePolicy = ResumePolicy.strict
    package var checksum: Checksum?
    package var connectTimeoutMilliseconds: Int64 = 30_000
    /// No byte for this long is a stall.
    package var stallTimeoutMilliseconds: Int64 = 30_000
    package var maxFileByteCount: Int64?
    package var priority: Int64 = 0
    package var retry = RetryOptions()
    /// Goes on without its host, as `--on-host-exit finish` does for all.
    package var isBackground = false
    /// Directories of the destination that are missing are made.
    package var createsDirectories = false

    package init() {}
}
