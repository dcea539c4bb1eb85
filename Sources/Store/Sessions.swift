internal import Core
internal import Glibc
internal import Platform

/// The sessions of all processes that share a state directory.  Isolation: any thread.
package struct Sessions: Sendable {
    private let directory: String
    /// O_NONBLOCK, so that a FIFO in place of a session file does not block.
    private static let flags = O_NOFOLLOW | O_NONBLOCK

    package init(directory: String) {
        self.directory = directory
    }

    /// True while the process that made the session is running.  C: F_OFD_GETLK
    ///
    /// If the file does not exist, the session is dead. If the lock cannot be queried, it counts as running, because
    /// taking over a running process's download is worse than waiting.
    package func isAlive(_ number: Int64) -> Bool {
        do throws(Errno) {
            let file = try FileDescriptor(open: path(number), flags: Self.flags | O_RDWR)
            return try file.isLockedElsewhere()
        } catch {
            return error != .noEntry
        }
    }

    /// The records in all slots of a session: for each download the furthest one of its latest attempt, by download id.
    package func readSlots(_ number: Int64) -> [String: ProgressRecord] {
        var records: [String: ProgressRecord] = [:]
        guard let file = try? FileDescriptor(open: path(number), flags: Self.flags | O_RDONLY),
            let status = try? file.status()
        else { return records }
        let slotCount = min((status.byteCount + 4095) / Int64(ProgressSlot.byteCount), Int64(ProgressSlots.maxCount))
        for slot in 0..<slotCount {
            let offset = slot * Int64(ProgressSlot.byteCount)
            guard let bytes = try? file.read(count: ProgressSlot.byteCount, at: offset) else { break }
            guard let record = ProgressSlot.decode(bytes) else { continue }
            if let other = records[record.downloadID], !record.isFurther(than: other) { continue }
            records[record.downloadID] = record
        }
        return records
    }

    /// The record in one slot of a session; nil if it is empty.
    package func readSlot(_ number: Int64, _ slot: Int) -> ProgressRecord? {
        guard (0..<ProgressSlots.maxCount).contains(slot),
            let file = try? FileDescriptor(open: path(number), flags: Self.flags | O_RDONLY),
            let bytes = try? file.read(
                count: ProgressSlot.byteCount,
                at: Int64(slot) * Int64(ProgressSlot.byteCount)
            )
        else { return nil }
        return ProgressSlot.decode(bytes)
    }

    /// The numbers of all session files.
    func numbers() -> [Int64] {
        ((try? directoryEntries(directory)) ?? []).compactMap { Int64($0) }
    }

    /// Deletes the file of a dead session, unless `isNamed` says that a record names it.
    ///
    /// The lock excludes a process that has just made the file and not locked it yet: it makes another one.
    func removeIfDead(_ number: Int64, isNamed: () throws(StoreError) -> Bool) throws(StoreError) {
        // Checked before the lock too: while we have the lock, the session would look alive to other processes.
        if try isNamed() { return }
        guard let file = try? FileDescriptor(open: path(number), flags: Self.flags | O_RDWR),
            (try? file.lock(.exclusive)) == true
        else { return }
        if try isNamed() { return }
        remove(number)
    }

    func remove(_ number: Int64) {
        try? removeFile(path(number))
    }

    func path(_ number: Int64) -> String {
        directory + "/\(number)"
    }
}

extension ProgressRecord {
    /// True if it belongs to a later attempt, or to the same attempt and covers more bytes.
    func isFurther(than other: ProgressRecord) -> Bool {
        if attempt != other.attempt { return attempt > other.attempt }
        return written.byteCount > other.written.byteCount
    }
}
