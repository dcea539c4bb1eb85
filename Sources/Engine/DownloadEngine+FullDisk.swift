internal import Core
internal import Files
internal import Platform
internal import Store

/// A full disk: downloads to that volume stop and wait, and one periodic check for all of them finds out when there is
/// space.
extension DownloadEngine {
    /// The most downloads that one check resumes, or that one turn stops.
    static let maxMovedCount = 500

    /// A download found no space: it waits, and so do all others to that volume.
    func diskIsFull(_ download: Download, _ failure: DownloadFailure, isReservation: Bool) {
        // A download that has ended its transfer needs hardly any space, so it is first in the queue.
        let place = queue.place(of: download.id) ?? 0
        stop(download)
        download.record.failure = failure
        download.queuePlace = place
        guard let id = download.volume else { return findVolume(download, isReservation: isReservation) }
        let volume = noteFull(id, download, failure, isReservation: isReservation)
        park(download, id, volume)
        if isReservation {
            // It may be too large for a disk with space for others: only a check can tell.
            look(id, mayAdmit: false)
        } else {
            close(id, volume)
        }
    }

    /// Finds the volume of the download that had no space.
    private func findVolume(_ download: Download, isReservation: Bool) {
        change(download, to: .waiting, reason: .diskFull)
        let generation = download.generation
        submit(.inspect(directory: directory(of: download))) { [self] outcome in
            guard generation == download.generation, let failure = download.record.failure else { return }
            guard case .success(let status) = outcome, case .present(let id) = status.directory else {
                // The directory does not exist any more: the next try will report it.
                return goOn(download)
            }
            download.volume = id
            let volume = noteFull(id, download, failure, isReservation: isReservation)
            wait(download, id, volume)
            if isReservation { look(id, mayAdmit: false) } else { close(id, volume) }
        }
    }

    private func noteFull(
        _ id: VolumeID, _ download: Download, _ failure: DownloadFailure, isReservation: Bool
    ) -> FullVolume {
        var volume = fullVolumes[id] ?? FullVolume()
        let isOnProbation = volume.isOnProbation(now)
        if volume.reopenedAt != nil, !isOnProbation, volume.stillWaiting().isEmpty { volume = FullVolume() }
        fullVolumes[id] = volume
        volume.failedAt = now
        // The free space says nothing about a quota. And if a check promised space that the disk did not have, checks
        // are not trusted any more.
        let wasPromised = isOnProbation && (!isReservation || download.roomAskedAt >= volume.reopenedAt ?? .max)
        if wasPromised || failure.errno == Int(Errno.quotaExceeded.code) { volume.isBlind = true }
        return volume
    }

    /// Makes a download wait for space.
    private func park(_ download: Download, _ id: VolumeID, _ volume: FullVolume) {
        wait(download, id, volume)
        change(download, to: .waiting, reason: .diskFull)
        let generation = download.generation
        whenQuiet(download) { [self] in
            guard generation == download.generation, download.partial.file != nil else { return }
            // The wait may be long: the file is closed, so that no descriptor is used and the volume can be unmounted.
            download.noteReservedRoom()
            closeFile(download)
            markDirty(download)
        }
    }

    /// Adds it to the waiting downloads, and schedules a check of the volume.
    private func wait(_ download: Download, _ id: VolumeID, _ volume: FullVolume) {
        if volume.nextLookAt <= now { scheduleLook(id, volume) }
        download.record.retryAtMilliseconds = retryTime(volume)
        volume.add(download)
    }

    private func retryTime(_ volume: FullVolume) -> Int64 {
        unixMilliseconds() + max(0, volume.nextLookAt - now) / 1_000_000
    }

    /// From now on nothing is written to the volume: running downloads stop. Those that have received their last byte
    /// may finish.
    private func close(_ id: VolumeID, _ volume: FullVolume) {
        guard !volume.isClosed else { return }
        volume.isClosed = true
        for other in queue.activeIDs.compactMap({ downloads[$0] }) where other.volume == id {
            guard other.record.state == .active, !other.isTransferOver, !other.isPublishing else { continue }
            parkBeside(other, id, volume)
        }
    }

    /// Makes a download wait because others found its volume full.
    private func parkBeside(_ download: Download, _ id: VolumeID, _ volume: FullVolume) {
        download.queuePlace = queue.place(of: download.id) ?? 0
        stop(download)
        let directory = directory(of: download)
        let message = "no space is left on the volume of \(directory)"
        download.record.failure = DownloadFailure(
            .diskFull, message, isRetryable: true, errno: Int(Errno.noSpace.code))
        park(download, id, volume)
    }

    private func directory(of download: Download) -> String {
        if let path = download.record.partialPath { return split(.file(path: path)).directory }
        return download.record.requestedDirectory ?? "/"
    }

    // MARK: - Before it begins

    /// Makes a download wait if its volume is full; true if it must not begin now.
    func waitsForRoom(_ download: Download) -> Bool {
        guard fullVolumes.values.contains(where: { $0.isClosed }), !download.record.isFinalizing else { return false }
        guard let id = download.volume else {
            let generation = download.generation
            submit(.inspect(directory: directory(of: download))) { [self] outcome in
                guard generation == download.generation else { return }
                if case .success(let status) = outcome, case .present(let id) = status.directory {
                    download.volume = id
                    if waitsForRoom(download) { return }
                }
                begin(download)
            }
            return true
        }
        guard let volume = fullVolumes[id], volume.isClosed, download.roomAskedAt <= volume.failedAt else {
            return false
        }
        download.volume = id
        parkBeside(download, id, volume)
        return true
    }

    // MARK: - Checks

    private func scheduleLook(_ id: VolumeID, _ volume: FullVolume) {
        let milliseconds = RoomPolicy.delayMilliseconds(lookCount: volume.lookCount, isBlind: volume.isBlind)
        volume.lookCount += 1
        volume.nextLookAt = Timespan(milliseconds: milliseconds).after(now)
        timers.add(
            .run { [self] in
                // A later failure may have postponed it.
                if volume === fullVolumes[id], volume.nextLookAt <= now { look(id, mayAdmit: true) }
            }, due: volume.nextLookAt)
    }

    /// Checks the free space of a volume where a waiting download will write.
    private func look(_ id: VolumeID, mayAdmit: Bool) {
        guard !isSuspended, let volume = fullVolumes[id] else { return }
        guard let first = volume.stillWaiting().first else { return open(volume) }
        submit(.inspect(directory: directory(of: first))) { [self] outcome in
            guard volume === fullVolumes[id], !isSuspended else { return }
            guard case .success(let status) = outcome, case .present(let found) = status.directory, found == id else {
                // The directory does not exist any more, or another disk is mounted there.
                if first.isWaitingForRoom {
                    first.volume = nil
                    goOn(first)
                }
                return look(id, mayAdmit: mayAdmit)
            }
            looked(id, volume, spare: status.spareByteCount, mayAdmit: mayAdmit)
        }
    }

    private func looked(_ id: VolumeID, _ volume: FullVolume, spare: Int64?, mayAdmit: Bool) {
        if let spare, spare <= 0 {
            close(id, volume)
        } else if mayAdmit {
            admit(volume, spare: spare)
        }
        guard mayAdmit else { return }
        let waiting = volume.stillWaiting()
        guard !waiting.isEmpty else { return }
        scheduleLook(id, volume)
        let time = retryTime(volume)
        // Not sent as events: one for each download at every check would contain nothing else.
        for download in waiting { download.record.retryAtMilliseconds = time }
    }

    /// There is space: the downloads that fit continue.
    private func admit(_ volume: FullVolume, spare: Int64?) {
        let waiting = volume.stillWaiting()
        let isBlind = volume.isBlind || spare == nil
        let needs = waiting.prefix(Self.maxMovedCount).lazy.map(\.neededByteCount)
        let places = RoomPolicy.admitted(needs: needs, spare: spare, isBlind: isBlind)
        if !isBlind { open(volume) }
        guard !places.isEmpty else { return }
        volume.reopenedAt = now
        for place in places { goOn(waiting[place]) }
    }

    private func open(_ volume: FullVolume) {
        volume.isClosed = false
        volume.isBlind = false
    }

    /// If the free space cannot be trusted, a successful write shows that others may continue.
    func volumeTookBytes(_ id: VolumeID?) {
        guard let id, let volume = fullVolumes[id], volume.isBlind, volume.reopenedAt != nil else { return }
        open(volume)
        look(id, mayAdmit: true)
    }

    /// Puts a download back in its place in the queue.
    private func goOn(_ download: Download) {
        // Also on a volume that is closed for others: this download finds out whether it has space.
        download.roomAskedAt = now + 1
        change(download, to: .queued)
        enqueue(download, place: download.queuePlace)
    }
}
