/// A fixed block of memory that body bytes travel in, from the socket to the file.
///
/// Safety: one owner at a time. The loop thread fills it, then gives it away with a job; the file worker reads it and gives
/// it back with the job's result; nobody keeps a reference that it uses after giving it away. The mailboxes that carry it
/// order the accesses.
@safe package final class IOBuffer: @unchecked Sendable {
    package let capacity: Int
    /// How many bytes from the start are filled.
    package var count = 0
    private let memory: UnsafeMutableRawPointer

    package init(capacity: Int) {
        self.capacity = capacity
        unsafe memory = .allocate(byteCount: capacity, alignment: 4096)
    }

    deinit { unsafe memory.deallocate() }

    package var isFull: Bool { count == capacity }

    /// Copies as much as fits; says how much that was.
    package func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let part = min(bytes.count, capacity - count)
        if part > 0, let source = bytes.baseAddress {
            unsafe (memory + count).copyMemory(from: source, byteCount: part)
            count += part
        }
        return part
    }

    /// Drops so many of the first bytes, or all there are; those behind them move up.
    package func dropFirst(_ byteCount: Int) {
        let dropped = min(max(0, byteCount), count)
        count -= dropped
        if count > 0 { unsafe memory.copyMemory(from: memory + dropped, byteCount: count) }
    }

    /// Lends the filled bytes.
    package func withBytes<Result, Failure: Error>(
        _ body: (borrowing RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safety: `self` keeps the memory alive for the call.
        let bytes = unsafe UnsafeRawBufferPointer(start: memory, count: count)
        return try unsafe body(bytes.bytes)
    }
}
