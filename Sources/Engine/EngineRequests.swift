package import Core

/// A download to start, with every default filled in and every path absolute.
package struct StartRequest: Sendable {
    /// Where the file will be.
    package enum Destination: Equatable, Sendable {
        /// This file.
        case file(path: String)
        /// A name from the response, in this directory.
        case directory(path: String)

        package var path: String {
            switch self {
            case .file(let path), .directory(let path): path
            }
        }
    }
    /// The host's id; nil to generate one.
    package var id: String?
    package var url: String
    package var destination: Destination
    package var options: DownloadOptions
    package var metadataText: String?
    package var startsPaused: Bool
    /// The bytes that are taken over from another state directory.
    package var resumeData: ResumeData?

    package init(
        id: String? = nil,
        url: String,
        destination: Destination,
        options: DownloadOptions = DownloadOptions(),
        metadataText: String? = nil,
        startsPaused: Bool = false,
        resumeData: ResumeData? = nil
    ) {
        self.id = id
        self.url = url
        self.destination = destination
        self.options = options
        self.metadataText = metadataText
        self.startsPaused = startsPaused
        self.resumeData = resumeData
    }
}

package struct StartAnswer: Sendable {
    package var download: DownloadSnapshot
    /// False if the record existed before.
    package var isCreated: Bool
    /// True if an interrupted download was taken over and continues.
    package var isResumed: Bool
}

/// Which downloads a command is for.
package enum DownloadTarget: Equatable, Sendable {
    case one(String)
    case several([String])
    /// All that are not final.
    case all
}

package enum CommandAnswer: Sendable {
    case one(DownloadSnapshot, isChanged: Bool)
    /// At most 20 errors are kept; `matched` counts the selected downloads that exist.
    case several(matched: Int, changed: Int, errors: [(id: String, error: EngineError)])
}

package struct ListRequest: Sendable {
    package var states: [DownloadState]?
    package var ids: [String]?
    package var changedSinceRevision: Int64?
    /// 1…100.
    package var limit: Int
    package var cursor: String?

    package init(
        states: [DownloadState]? = nil,
        ids: [String]? = nil,
        changedSinceRevision: Int64? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.states = states
        self.ids = ids
        self.changedSinceRevision = changedSinceRevision
        self.limit = limit
        self.cursor = cursor
    }
}

package struct ListAnswer: Sendable {
    /// One entry: the snapshot, and the cursor that continues after it (a page may have to end early).
    package struct Entry: Sendable {
        package var download: DownloadSnapshot
        package var cursorAfter: String
        /// The removals to report if the page ends after this entry.
        package var removedIDs: [String]
    }
    package var entries: [Entry]
    package var removedIDs: [String]
    /// Nil if these entries are the last.
    package var nextCursor: String?
    package var revision: Int64
}

/// What `configure` can set for this process.
package struct EngineSettings: Equatable, Sendable {
    package var maxActive = 8
    package var maxActivePerHost = 6
    package init() {}
}

/// What `inspect` shows of one download, secrets redacted.
package struct Inspection: Sendable {
    package var download: DownloadSnapshot
    package var hops: [Trail.Hop]
    package var attempts: [Trail.Attempt]
    package var etag: String?
    package var lastModified: String?
    package var durableRanges: ByteRangeSet
    package var writtenRanges: ByteRangeSet
    package var consecutiveFailures: Int
    package var wastedByteCount: Int64
}
