/// A fixed block of memory that carries body bytes from the socket to the file.
///
/// Safety: one owner at a time. The loop thread fills it and passes it on with a job; the file worker reads it and
/// returns it with the job's result; nobody uses it after passing it on. The mailboxes order the accesses.
@safe package final class IOBuffer: @unchecked Sendable {
    package let capacity: Int
    /// The number of bytes filled, from the start.
    package var count = 0
    private let memory: UnsafeMutableRawPointer

    package init(capacity: Int) {
        self.capacity = capacity
        unsafe memory = .allocate(byteCount: capacity, alignment: 4096)
    }

    deinit { unsafe memory.deallocate() }

    package var isFull: Bool { count == capacity }

    /// Copies as much as fits; returns how much.
    package func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let part = min(bytes.count, capacity - count)
        if part > 0, let source = bytes.baseAddress {
            unsafe (memory + count).copyMemory(from: source, byteCount: part)
            count += part
        }
        return part
    }

    /// Drops up to this many of the first bytes; the rest moves to the front.
    package func dropFirst(_ byteCount: Int) {
        let dropped = min(max(0, byteCount), count)
        count -= dropped
        if count > 0 { unsafe memory.copyMemory(from: memory + dropped, byteCount: count) }
    }

    /// Gives access to the filled bytes.
    package func withBytes<Result, Failure: Error>(
        _ body: (borrowing RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Safety: `self` keeps the memory alive during the call.
        let bytes = unsafe UnsafeRawBufferPointer(start: memory, count: count)
        return try unsafe body(bytes.bytes)
    }
}
