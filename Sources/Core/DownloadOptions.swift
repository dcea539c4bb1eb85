/// What to do when the destination exists.
package enum IfExists: String, Sendable, CaseIterable {
    case error
    case overwrite
    case rename
    case skip
}

/// What to do when the server's file is no longer the one that the stored bytes came from.
package enum OnChange: String, Sendable, CaseIterable {
    case restart
    case fail
    case keepBoth
}

/// How much proof a resume needs that the file is unchanged.
package enum ResumePolicy: String, Sendable, CaseIterable {
    case strict
    case probe
    case trust
}

/// When to give up, and how long to wait before each retry.
package struct RetryOptions: Equatable, Sendable {
    /// Failures in a row, with no new bytes between them, before the download fails; 0 means no retry.
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

/// The options of a download with defaults filled in, as its record stores them.
package struct DownloadOptions: Equatable, Sendable {
    package var headers: [HeaderField] = []
    package var userAgent: String?
    package var ifExists = IfExists.error
    package var onChange = OnChange.restart
    package var resumePolicy = ResumePolicy.strict
    package var checksum: Checksum?
    package var connectTimeoutMilliseconds: Int64 = 30_000
    /// A transfer that receives no byte for this long has stalled.
    package var stallTimeoutMilliseconds: Int64 = 30_000
    package var maxFileByteCount: Int64?
    package var priority: Int64 = 0
    package var retry = RetryOptions()
    /// Continues when the host exits, as `--on-host-exit finish` does for all downloads.
    package var isBackground = false
    /// Creates missing directories of the destination.
    package var createsDirectories = false

    package init() {}
}
