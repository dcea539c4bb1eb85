package import Core
package import Platform

/// The threads that touch data files.  Isolation: one thread submits and stops; any thread may take results.
///
/// Each volume has a write lane and a sync lane, so that a slow disk delays only its own files and a flush delays no
/// write. There are also path lanes, for operations that may hang before the volume is known (another one is added when
/// all hang), and a hash lane. A lane works in order. Between lanes there is no order: the caller submits the next step
/// when it has the result of the last.
package final class FileWorkers: Sendable {
    /// The most volumes with lanes of their own; further volumes share these lanes.
    package static let volumeLimit = 16
    /// The most that one `read` job may ask for.
    package static let readLimitByteCount: Int64 = 65_536

    /// The most path lanes: with more hanging disks, other inspections have to wait.
    package static let pathLaneLimit = 16

    private struct PathLane {
        var lane: Lane<PathWorker>
        var progress: PathProgress
    }
    private struct Volume {
        var id: VolumeID
        var write: Lane<WriteWorker>
        var sync: Lane<SyncWorker>
    }
    private struct State {
        var paths: [PathLane] = []
        var volumes: [Volume] = []
        var hash: Lane<HashWorker>?
        var isStopped = false
    }
    private let state = Guarded(State())
    private let results: Mailbox<FileResult>
    private let scope: PathScope
    private let stopping = CancellationFlag()

    /// Starts a path lane; the others start when first needed.
    ///
    /// - Parameter scope: the allowed directories; a path outside, or led outside by a link, is `.outsideRoots`.
    package init(results: Mailbox<FileResult>, scope: PathScope = .anywhere) throws(Errno) {
        self.results = results
        self.scope = scope
        _ = try addPathLane()
    }

    private func addPathLane() throws(Errno) -> Lane<PathWorker> {
        let results = results
        let progress = PathProgress()
        let lane = try Lane(name: "files-path") { PathWorker(results: results, progress: progress) }
        state.withLock { $0.paths.append(PathLane(lane: lane, progress: progress)) }
        return lane
    }

    /// A path lane that is not stuck; a new one if all are.
    private func pathLane() throws(Errno) -> Lane<PathWorker> {
        let paths = state.withLock { $0.paths }
        if let free = paths.first(where: { !$0.progress.isStuck }) { return free.lane }
        if paths.count < Self.pathLaneLimit { return try addPathLane() }
        return paths[paths.count - 1].lane
    }

    /// Queues a job; never blocks. Its one result, also a failure, arrives in the mailbox.
    ///
    /// - Parameter volume: the volume of the path, for jobs that have only a path (`createPartial`, `openPartial`,
    ///   `writeSmall`); nil sends them to a path lane. Other jobs find their volume by their file.
    package func submit(_ job: FileJob, ticket: UInt64, volume: VolumeID? = nil) {
        let ticketed = TicketedJob(job: job, ticket: ticket, scope: scope)
        if state.withLock({ $0.isStopped }) {
            return refuse(ticketed, .stopped)
        }
        do throws(Errno) {
            try route(ticketed, volume)
        } catch {
            // No lane could be created: out of descriptors or threads.
            refuse(ticketed, .system(error))
        }
    }

    /// Finishes the queued jobs and ends the threads; running digests are cancelled. Blocks until then, which may take
    /// long on a slow disk. Later jobs fail with `.stopped`.
    package func stop() {
        let stopped = state.withLock { state -> State? in
            if state.isStopped { return nil }
            let stopped = state
            state = State(isStopped: true)
            return stopped
        }
        guard let stopped else { return }
        stopping.cancel()
        for path in stopped.paths { path.lane.finish() }
        stopped.hash?.finish()
        // Write lanes submit to sync lanes, so those end last.
        for volume in stopped.volumes { volume.write.finish() }
        for volume in stopped.volumes { volume.sync.finish() }
    }

    private func route(_ job: TicketedJob, _ volume: VolumeID?) throws(Errno) {
        switch job.job {
        case .inspect, .locate:
            try pathLane().submit(job)
        case .createPartial, .writeSmall:
            if let volume { try lanes(of: volume).write.submit(job) } else { try pathLane().submit(job) }
        case .openPartial:
            // It flushes, so it must not delay writes.
            if let volume { try lanes(of: volume).sync.submit(.job(job)) } else { try pathLane().submit(job) }
        case .name(let file, _), .reserve(let file, _), .write(let file, _, _, _), .mark(let file, _),
            .truncate(let file, _, _), .read(let file, _), .close(let file), .movePartial(let file, _):
            try lanes(of: file.volume).write.submit(job)
        case .publish(let publication):
            try lanes(of: publication.file.volume).write.submit(job)
        case .describePartial(_, let identity):
            try lanes(of: VolumeID(identity)).sync.submit(.job(job))
        case .lookForPublished(_, let identity, _, _), .discard(_, let identity), .removeFinished(_, let identity, _):
            try lanes(of: VolumeID(identity)).write.submit(job)
        case .checkpoint(let file), .syncForFinish(let file, _):
            try lanes(of: file.volume).sync.submit(.job(job))
        case .digest:
            try hashLane().submit(job)
        case .examine(_, let digest, _):
            // Reading may take long.
            if digest == nil { try pathLane().submit(job) } else { try hashLane().submit(job) }
        }
    }

    private func lanes(of id: VolumeID) throws(Errno) -> Volume {
        let found = state.withLock { state -> Volume? in
            if let known = state.volumes.first(where: { $0.id == id }) { return known }
            // Lanes are never removed, so this choice stays the same.
            if state.volumes.count < Self.volumeLimit { return nil }
            return state.volumes[Int(id.device % UInt64(Self.volumeLimit))]
        }
        if let found { return found }
        let results = results
        let scope = scope
        let sync = try Lane(name: "files-sync") { SyncWorker(results: results, scope: scope) }
        do throws(Errno) {
            let write = try Lane(name: "files-write") { WriteWorker(results: results, sync: sync) }
            let made = Volume(id: id, write: write, sync: sync)
            state.withLock { $0.volumes.append(made) }
            return made
        } catch {
            sync.finish()
            throw error
        }
    }

    private func hashLane() throws(Errno) -> Lane<HashWorker> {
        if let lane = state.withLock({ $0.hash }) { return lane }
        let results = results
        let stopping = stopping
        let lane = try Lane(name: "files-hash") { HashWorker(results: results, stopping: stopping) }
        state.withLock { $0.hash = lane }
        return lane
    }

    private func refuse(_ job: TicketedJob, _ reason: FileError.Reason) {
        let (operation, path) = job.job.subject
        let error = FileError(operation, path, reason)
        results.send(FileResult(ticket: job.ticket, outcome: .failed(error), buffer: job.job.buffer))
    }
}

extension FileJob {
    /// The operation and path for an error of the whole job.
    var subject: (FileError.Operation, path: String) {
        switch self {
        case .inspect(let directory, _, _, _): (.inspect, directory)
        case .locate(let directories): (.inspect, directories.first ?? "")
        case .createPartial(let path, _, _), .name(_, let path): (.create, path)
        case .openPartial(let path, _, _, _), .describePartial(let path, _): (.open, path)
        case .movePartial(let file, _): (.move, file.path)
        case .reserve(let file, _): (.reserve, file.path)
        case .write(let file, _, _, _): (.write, file.path)
        case .mark(let file, _): (.write, file.path)
        case .checkpoint(let file), .syncForFinish(let file, _): (.synchronize, file.path)
        case .writeSmall(let path, _, _): (.create, path)
        case .examine(let path, _, _): (.inspect, path)
        case .digest(let file, _, _): (.digest, file.path)
        case .publish(let publication): (.publish, publication.partialPath)
        case .lookForPublished(let path, _, _, _): (.lookUp, path)
        case .discard(let path, _), .removeFinished(let path, _, _): (.remove, path)
        case .truncate(let file, _, _): (.truncate, file.path)
        case .read(let file, _): (.read, file.path)
        case .close(let file): (.close, file.path)
        }
    }
}
