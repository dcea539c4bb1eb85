internal import Core

/// What the engine's one client (the service's session) must do.  Isolation: the engine, on the loop thread.
package protocol EngineClient: AnyObject {
    /// Called first in every turn of the loop: takes what came in and does what is due.
    ///
    /// - Returns: the monotonic time in nanoseconds at which it wants to be called again at the latest; nil: no wish.
    func turn(_ engine: isolated DownloadEngine) -> Int64?

    /// A download of this process changed its state, reason or phase; the change is durable by now (a phase needs not be).
    ///
    /// Comes after the answer to the request that caused it, in order, and never again after a final state until a later
    /// request revives the download.
    func downloadChanged(_ download: DownloadSnapshot, _ engine: isolated DownloadEngine)
}

/// The download actor.  Isolation: the curl loop's thread, by a custom executor.
package actor DownloadEngine {
    package typealias Reply<Answer> = (Result<Answer, EngineError>) -> Void

    /// Starts a download, or finds the one that a repeated request means; answers when its record is durable.
    package func start(_ request: StartRequest, reply: @escaping Reply<StartAnswer>) {}

    /// Pauses, resumes or cancels; answers in the order of the requests, when the records are durable.
    ///
    /// - Parameter deletesPartial: for cancel only.
    package func perform(
        _ command: DownloadCommand,
        on target: DownloadTarget,
        deletesPartial: Bool,
        reply: @escaping Reply<CommandAnswer>
    ) {}

    /// Forgets a download in a final state.
    ///
    /// - Parameter deletesFile: removes the finished file too, if it still is the one that the record knows.
    package func remove(id: String, deletesFile: Bool, reply: @escaping Reply<Void>) {}

    /// Reads one download; sees every change that was requested before it.
    package func get(id: String, reply: @escaping Reply<DownloadSnapshot>) {}

    package func list(_ request: ListRequest, reply: @escaping Reply<ListAnswer>) {}

    package func inspect(id: String, reply: @escaping Reply<Inspection>) {}

    /// Calls back when every request before it has been answered: keeps refusals in the order of the requests.
    package func afterEarlierRequests(_ body: @escaping () -> Void) {}

    /// Interrupted downloads of dead processes become ours and go on; answers with how many.
    package func resumeInterrupted(reply: @escaping Reply<Int>) {}

    package var settings: EngineSettings { EngineSettings() }

    package func configure(_ settings: EngineSettings) {}

    /// One of this process's own unfinished (or just finished) downloads; nil when the engine does not hold it now.
    package func snapshot(id: String) -> DownloadSnapshot? { nil }

    /// The ids of all downloads that the engine holds now: own ones that are not final.
    package var heldIDs: [String] { [] }

    /// The ids of downloads whose byte counts or speed moved since the last call.
    package func takeAdvancedIDs() -> [String] { [] }

    /// Stops all transfers, hands what is gathered to the disk, commits the marks, and lets the records go as interrupted.
    ///
    /// After it, requests that change something get `.shuttingDown`.
    package func suspendAll(reply: @escaping () -> Void) {}

    /// The revision that the last commit reached.
    package var revision: Int64 { 0 }
}
