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

/// What the user wants of a download, whatever it does right now.
package enum DownloadIntent: String, Sendable, CaseIterable {
    case run
    case paused
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
    /// Why bytes that were held could not be used.
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
    }
    package var mode: Mode
    package var offset: Int64
    package var why: Why?

    package init(mode: Mode, offset: Int64, why: Why? = nil) {
        self.mode = mode
        self.offset = offset
        self.why = why
    }
}
