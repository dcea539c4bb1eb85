internal import Platform

/// A volume's write lane: all changes of files and names, in order.
struct WriteWorker: LaneWorker {
    let results: Mailbox<FileResult>
    let sync: Lane<SyncWorker>

    func perform(_ jobs: [TicketedJob]) {
        for job in jobs {
            switch job.job {
            case .publish(let publication):
                finishOnSyncLane(job.ticket) { () throws(FileError) in try publication.rename() }
            case .lookForPublished(let path, let identity, let byteCount, let mode):
                finishOnSyncLane(job.ticket) { () throws(FileError) in
                    try findPublished(path, identity: identity, byteCount: byteCount, mode: mode, in: job.scope)
                }
            default:
                results.send(job.performed())
            }
        }
    }

    /// A name counts only once its directory is durable; the sync lane does that for many names at once.
    private func finishOnSyncLane(_ ticket: UInt64, _ body: () throws(FileError) -> PublishedFile?) {
        do throws(FileError) {
            if let published = try body() {
                sync.submit(.directory(of: published, ticket: ticket))
            } else {
                results.send(FileResult(ticket: ticket, outcome: .notPublished))
            }
        } catch {
            results.send(FileResult(ticket: ticket, outcome: .failed(error)))
        }
    }
}
