package import Core

/// Which process owns a download, seen from this one.
package enum Ownership: String, Sendable, CaseIterable {
    case `self`
    case other
    case none
}

/// A download at one moment: the content of the wire's `Download`.
package struct DownloadSnapshot: Equatable, Sendable {
    package var id: String
    package var url: String
    package var finalURL: String?
    package var path: String?
    package var partialPath: String?
    /// Partial files of earlier versions of the server's file; oldest first.
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
    /// Body bytes received over the network in this attempt.
    package var transferredByteCount: Int64
    package var contiguousByteCount: Int64
    package var bytesPerSecond: Int64?
    package var etaMilliseconds: Int64?
    package var connections: Int
    package var attempt: Int
    /// Nil until a response was received.
    package var isResumable: Bool?
    /// False if a truncated body would look like a complete one; nil until a response was received.
    package var isLengthVerified: Bool?
    package var transfer: TransferOrigin?
    /// Time of the next retry, in milliseconds since 1970.
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
    /// Continues when its host exits.
    package var isBackground: Bool
}
