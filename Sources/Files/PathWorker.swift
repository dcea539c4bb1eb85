internal import Platform

/// The path lane: looks at destinations, and opens files whose volume nobody knows yet.
struct PathWorker: LaneWorker {
    let results: Mailbox<FileResult>

    func perform(_ jobs: [TicketedJob]) {
        for job in jobs { results.send(job.performed()) }
    }
}
