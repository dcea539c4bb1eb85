internal import Core
internal import Platform

extension FileSystemRoom {
    /// The space that files may still use while the volume keeps its floor; negative when it is below the floor.
    var spareByteCount: Int64 {
        availableByteCount - RoomPolicy.floorByteCount(ofVolume: totalByteCount)
    }
}

extension OpenFile {
    /// The most that is written between two checks of the free space, on a volume that cannot reserve.
    private static let maxAllowanceByteCount: Int64 = 8 << 20

    /// Fails when the write would use the floor; a file with reserved space uses nothing of it.
    func checkRoom(_ handle: Handle, for byteCount: Int64, endingAt end: Int64) throws(FileError) {
        if takeAllowance(byteCount, endingAt: end) { return }
        guard let room = handle.descriptor.room() else { return grantAllowance(Self.maxAllowanceByteCount) }
        guard room.spareByteCount >= byteCount else { throw FileError(.write, path, errno: .noSpace) }
        grantAllowance(min(Self.maxAllowanceByteCount, room.spareByteCount / 4))
    }

    /// Reserves space for all its bytes where the file system can; reserved bytes do not count as stored.
    func reserve(byteCount: Int64) throws(FileError) {
        let handle = try handle(for: .reserve)
        try attempt(.reserve, path) { () throws(Errno) in
            let missing = byteCount - (try handle.descriptor.status().allocatedByteCount)
            if missing > 0, let room = handle.descriptor.room(), room.spareByteCount < missing { throw .noSpace }
            do throws(Errno) {
                try handle.descriptor.preallocate(byteCount: byteCount)
                noteReserved(byteCount)
                noteTouched(handle)
            } catch {
                // On a file system that cannot reserve, the file grows as bytes are written.
                if ![.notSupported, .notImplemented, .invalidArgument].contains(error) { throw error }
            }
        }
    }
}
