internal import Curl
internal import Platform

/// The bounded set of buffers that body bytes travel in.  Isolation: the engine.
struct BufferPool {
    /// One buffer: what a write call hands to the kernel.
    static let bufferByteCount = 128 << 10
    /// How many one transfer may have at a time, gathering and on their way to the disk.
    ///
    /// Together with what libcurl may have read (`maxReceiveBufferByteCount`) this is what kill -9 can cost a connection:
    /// less than 1 MiB.
    static let maxBuffersPerTransfer = 4
    /// The most that libcurl reads from a socket at once.
    static let maxReceiveBufferByteCount = 480 << 10
    /// All buffers together: 64 MiB.
    static let maxBuffers = 512

    static let maxIdleBuffers = 64

    private var idle: [IOBuffer] = []
    private(set) var takenCount = 0

    /// An empty buffer, or nil when all are in use.
    mutating func take() -> IOBuffer? {
        if let buffer = idle.popLast() {
            takenCount += 1
            return buffer
        }
        guard takenCount < Self.maxBuffers else { return nil }
        takenCount += 1
        return IOBuffer(capacity: Self.bufferByteCount)
    }

    /// A buffer without bytes, for a job that has none to carry; it comes back like any other.
    mutating func takeEmpty() -> IOBuffer {
        takenCount += 1
        return idle.popLast() ?? IOBuffer(capacity: Self.bufferByteCount)
    }

    mutating func give(_ buffer: IOBuffer) {
        buffer.count = 0
        takenCount -= 1
        // A burst of many transfers should not stay resident.
        if idle.count < Self.maxIdleBuffers { idle.append(buffer) }
    }
}
