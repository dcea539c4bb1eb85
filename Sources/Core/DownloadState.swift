/// The state of a download.  The raw values are used on the wire and on disk.
package enum DownloadState: String, Sendable, CaseIterable {
    case queued
    case active
    case waiting
    case paused
    case failed
    case completed
    case canceled

    /// True for completed, failed and canceled: nothing more happens without a command.
    package var isFinal: Bool {
        switch self {
        case .completed, .failed, .canceled: true
        case .queued, .active, .waiting, .paused: false
        }
    }
}

/// Why a download waits or is paused.
package enum StateReason: String, Sendable, CaseIterable {
    // waiting
    case retry
    case rateLimited
    case offline
    case diskFull
    case needsUrl
    // paused
    case user
    case interrupted
}

/// What an active download is doing.
package enum DownloadPhase: String, Sendable, CaseIterable {
    case connecting
    case downloading
    case verifying
    case finalizing
}

/// The state of a download with its reason or phase, as the wire shows it.
package struct DownloadStatus: Equatable, Hashable, Sendable {
    package var state: DownloadState
    /// Only when waiting or paused.
    package var reason: StateReason?
    /// Only when active.
    package var phase: DownloadPhase?

    package init(_ state: DownloadState, reason: StateReason? = nil, phase: DownloadPhase? = nil) {
        self.state = state
        self.reason = reason
        self.phase = phase
    }
}

/// What the user wants of a download, whatever its state.
package enum DownloadIntent: String, Sendable, CaseIterable {
    case run
    case paused
}

/// Why bytes of two responses may be joined in one file.  The raw values are used on the wire and on disk.
package enum IdentityProof: String, Sendable, CaseIterable {
    /// Both responses had the same strong validator.
    case validated
    /// The checksum of the whole file will be verified.
    case checksum
    /// The length is the same, and stored bytes that were fetched again were equal.
    case probed
    /// The length is the same, and the host accepts the risk.
    case trusted
}

/// How the current transfer began; the wire's `transfer` member shows it.
package struct TransferOrigin: Equatable, Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        /// From offset 0, with no stored bytes before.
        case fresh
        /// From the end of the stored bytes.
        case resumed
        /// From offset 0 although bytes were stored; `why` says why they could not be used.
        case restarted
        /// Nothing had to be transferred.
        case unchanged
    }
    /// Why stored bytes could not be used or, when nothing had to be transferred, how that is known.
    package enum Why: String, Sendable, CaseIterable {
        case validatorChanged
        case totalChanged
        case rangeIgnored
        case rangeRejected
        case badRangeResponse
        case noValidator
        case partialMissing
        case partialDamaged
        case encodedResponse
        case checksumMismatch
        /// Bytes that were fetched again for comparison differ from the stored ones.
        case overlapDiffers
        /// Redirects led to another host than before, which sent another validator with the same length.
        case mirrorChanged
        /// The file at the destination matches the checksum.
        case checksum
        /// A record says that the file came from this URL, and the server sends the same validator and length.
        case record
        /// The server answered that the file has not changed.
        case notModified
        /// The server sends the file's length and modification time.
        case sameLengthAndTime
    }
    package var mode: Mode
    package var offset: Int64
    package var why: Why?
    /// The proof on which stored bytes were joined; nil when none were.
    package var identity: IdentityProof?

    package init(mode: Mode, offset: Int64, why: Why? = nil, identity: IdentityProof? = nil) {
        self.mode = mode
        self.offset = offset
        self.why = why
        self.identity = identity
    }
}
