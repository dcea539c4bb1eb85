internal import Core
internal import Platform

extension FileSystemRoom {
    /// What files may still take, so that the volume keeps its floor; negative when it is below.
    var spareByteCount: Int64 {
        availableByteCount - RoomPolicy.floorByteCount(ofVolume: totalByteCount)
    }
}

extension OpenFile {
    /// How much is written at most between two looks at the room of a volume that could not reserve any.
    private static let maxAllowanceByteCount: Int64 = 8 << 20

    /// Fails when the rest of the room must be left free; a file whose room is reserved takes nothing from it.
    func checkRoom(_ handle: Handle, for byteCount: Int64, endingAt end: Int64) throws(FileError) {
        if takeAllowance(byteCount, endingAt: end) { return }
        guard let room = handle.descriptor.room() else { return grantAllowance(Self.maxAllowanceByteCount) }
        guard room.spareByteCount >= byteCount else { throw FileError(.write, path, errno: .noSpace) }
        grantAllowance(min(Self.maxAllowanceByteCount, room.spareByteCount / 4))
    }

    /// Reserves room for all its bytes where the file system can; no byte counts because of it.
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
                // A file system that cannot reserve lets the file grow as it comes.
                if ![.notSupported, .notImplemented, .invalidArgument].contains(error) { throw error }
            }
        }
    }
}
