internal import Glibc
package import Platform

/// This process's file in `sessions/`: its exclusive lock shows that the process is running, its slots store progress
/// marks.
///
/// Isolation: any thread; the loop encodes, file workers write.
package final class SessionFile: Sendable {
    /// Identifies the session in records: positive, below 2^53, never reused.
    package let number: Int64
    private let file: FileDescriptor

    private init(number: Int64, file: consuming FileDescriptor) {
        self.number = number
        self.file = file
    }

    /// Makes a session file with a number that was never used.
    static func make(in directory: String) throws(Errno) -> SessionFile {
        while true {
            let number = try randomNumber()
            let path = directory + "/\(number)"
            let file: FileDescriptor
            do throws(Errno) {
                file = try FileDescriptor(open: path, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            } catch {
                if error == .exists { continue }
                throw error
            }
            do throws(Errno) {
                // A process that deletes dead sessions may have deleted the file before we had the lock.
                guard try file.lock(.exclusive), try isNamed(file, path) else { continue }
            } catch {
                try? removeFile(path)
                throw error
            }
            return SessionFile(number: number, file: file)
        }
    }

    private static func isNamed(_ file: borrowing FileDescriptor, _ path: String) throws(Errno) -> Bool {
        do throws(Errno) {
            return try FileStatus(path: path).identity == file.status().identity
        } catch {
            if error == .noEntry { return false }
            throw error
        }
    }

    /// Writes an encoded record into a slot.  C: pwrite(2)
    package func write(_ bytes: [UInt8], slot: Int) throws(Errno) {
        precondition(bytes.count <= ProgressSlot.byteCount, "a record fits its slot")
        // Safety: the span lives for the call, which only reads it; bytes have no padding.
        try unsafe file.write(bytes.span.bytes, at: Int64(slot) * Int64(ProgressSlot.byteCount))
    }

    /// Makes a slot empty.
    package func clear(slot: Int) throws(Errno) {
        try write([UInt8](repeating: 0, count: 8), slot: slot)
    }

    /// The record in a slot; nil if it is empty.
    package func read(slot: Int) throws(Errno) -> ProgressRecord? {
        let offset = Int64(slot) * Int64(ProgressSlot.byteCount)
        return ProgressSlot.decode(try file.read(count: ProgressSlot.byteCount, at: offset))
    }

    /// Releases the lock: from now on the session counts as dead.
    func end() {
        _ = try? file.lock(.none)
    }

    /// The lower bits of a session's number are its process id.  C: PID_MAX_LIMIT, linux/threads.h
    private static let processIDBitCount: Int64 = 22

    /// The id of the process that made a session, in its own pid namespace.
    package static func processID(ofSession number: Int64) -> Int64 {
        number & ((1 << processIDBitCount) - 1)
    }

    private static func randomNumber() throws(Errno) -> Int64 {
        let bytes = try randomBytes(count: 7)
        let random = bytes.reduce(Int64(0)) { $0 << 8 | Int64($1) } >> 4
        return max(1, (random >> processIDBitCount) << processIDBitCount | Int64(getpid()))
    }
}

/// Which slots of a session file are in use.  Isolation: its owner's.
package struct ProgressSlots: Sendable {
    /// One slot per unfinished download; without a slot a download has only its durable marks.
    package static let maxCount = 65_536

    private var free: [Int] = []
    private var count = 0

    package init() {}

    /// How many are in use.
    package var usedCount: Int { count - free.count }

    /// A released slot, or the lowest one never used; nil if all are in use.
    package mutating func take() -> Int? {
        if let slot = free.popLast() { return slot }
        guard count < Self.maxCount else { return nil }
        count += 1
        return count - 1
    }

    /// Releases a slot; its content stays until its next user writes, or until `SessionFile.clear`.
    package mutating func giveBack(_ slot: Int) {
        free.append(slot)
    }
}
