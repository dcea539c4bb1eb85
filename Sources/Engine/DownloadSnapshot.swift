package import Core

/// Which process a download belongs to, as this one sees it.
package enum Ownership: String, Sendable, CaseIterable {
    case `self`
    case other
    case none
}

/// One download as it is at one moment: what the wire's `Download` shows.
package struct DownloadSnapshot: Equatable, Sendable {
    package var id: String
    package var url: String
    package var finalURL: String?
    package var path: String?
    package var partialPath: String?
    /// Partial files of versions that the server no longer has; the oldest first.
    package var keptPaths: [String] = []
    package var suggestedFileName: String?
    package var contentType: String?
    package var state: DownloadState
    package var reason: StateReason?
    /// Nil unless active.
    package var phase: DownloadPhase?
    package var owner: Ownership
    package var receivedByteCount: Int64
    package var totalByteCount: Int64?
    /// Body bytes that came over the network in this attempt.
    package var transferredByteCount: Int64
    package var contiguousByteCount: Int64
    package var bytesPerSecond: Int64?
    package var etaMilliseconds: Int64?
    package var connections: Int
    package var attempt: Int
    /// Nil until a response told.
    package var isResumable: Bool?
    /// False when a body that was cut off would have looked like one that ended; nil until a response told.
    package var isLengthVerified: Bool?
    package var transfer: TransferOrigin?
    /// When a waiting download tries again, in milliseconds since 1970.
    package var retryAtUnixMilliseconds: Int64?
    package var checksum: Checksum?
    package var failure: DownloadFailure?
    package var priority: Int64
    /// The host's own JSON object, as text.
    package var metadataText: String?
    package var createdAtUnixMilliseconds: Int64
    package var updatedAtUnixMilliseconds: Int64
    package var completedAtUnixMilliseconds: Int64?
    package var revision: Int64
    /// Goes on without its host.
    package var isBackground: Bool
}
