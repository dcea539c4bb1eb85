/// Where a download stands.  The raw values are on the wire and on disk.
package enum DownloadState: String, Sendable, CaseIterable {
    case queued
    case active
    case waiting
    case paused
    case failed
    case completed
    case canceled

    /// Nothing more happens unless somebody asks: completed, failed or canceled.
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

/// What an active download is busy with.
package enum DownloadPhase: String, Sendable, CaseIterable {
    case connecting
    case downloading
    case verifying
    case finalizing
}

/// Where a download stands, as the wire shows it.
package struct DownloadStatus: Equatable, Hashable, Sendable {
    /// The state proper.
    package var state: DownloadState
    /// Only while waiting or paused.
    package var reason: StateReason?
    /// Only while active.
    package var phase: DownloadPhase?

    package init(_ state: DownloadState, reason: StateReason? = nil, phase: DownloadPhase? = nil) {
        self.state = state
        self.reason = reason
        self.phase = phase
    }
}

/// What the user wants of a download, whatever it does right now.
package enum DownloadIntent: String, Sendable, CaseIterable {
    case run
    case paused
}

/// What lets bytes of two responses stand in one file.  The raw values are on the wire and on disk.
package enum IdentityProof: String, Sendable, CaseIterable {
    /// Both came under one strong validator.
    case validated
    /// The digest of the whole will tell.
    case checksum
    /// The length is the same, and a stretch of the bytes held was fetched again and was the same.
    case probed
    /// The length is the same, and the host takes the risk.
    case trusted
}

/// How the current transfer began, which the wire's `transfer` member tells.
package struct TransferOrigin: Equatable, Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        /// From the first byte, with nothing held before.
        case fresh
        /// On from what was held.
        case resumed
        /// From the first byte though bytes were held; `why` says why they could not be used.
        case restarted
        /// Nothing had to be transferred.
        case unchanged
    }
    /// Why bytes that were held could not be used; or, where nothing had to be transferred, what tells that.
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
        /// Bytes fetched once more to compare them were not those that are held.
        case overlapDiffers
        /// The redirects led to another host than before, where the validator is another and the length the same.
        case mirrorChanged
        /// The file at the destination has the digest that was asked for.
        case checksum
        /// A record says that the file was fetched from there, and the server names the same validator and length.
        case record
        /// The server says that it has not changed.
        case notModified
        /// The server names its length and its time.
        case sameLengthAndTime
    }
    package var mode: Mode
    package var offset: Int64
    package var why: Why?
    /// What the bytes that were held were joined on; nil when none were.
    package var identity: IdentityProof?

    package init(mode: Mode, offset: Int64, why: Why? = nil, identity: IdentityProof? = nil) {
        self.mode = mode
        self.offset = offset
        self.why = why
        self.identity = identity
    }
}
