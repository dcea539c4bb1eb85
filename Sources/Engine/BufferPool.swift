internal import Curl
internal import Platform

/// The limited set of buffers for body bytes.  Isolation: the engine.
struct BufferPool {
    /// The size of one buffer, and so of one write call.
    static let bufferByteCount = 128 << 10
    /// How many buffers one transfer may use at a time, gathered or on the way to the disk.
    ///
    /// Together with the bytes that libcurl may have read (`maxReceiveBufferByteCount`) this limits what `kill -9` can
    /// cost per connection: less than 1 MiB.
    static let maxBuffersPerTransfer = 4
    /// The most that libcurl reads from a socket at once.
    static let maxReceiveBufferByteCount = 480 << 10
    /// All buffers together: 64 MiB.
    static let maxBuffers = 512

    static let maxIdleBuffers = 64

    private var idle: [IOBuffer] = []
    private(set) var takenCount = 0

    /// An empty buffer, or nil if all are in use.
    mutating func take() -> IOBuffer? {
        if let buffer = idle.popLast() {
            takenCount += 1
            return buffer
        }
        guard takenCount < Self.maxBuffers else { return nil }
        takenCount += 1
        return IOBuffer(capacity: Self.bufferByteCount)
    }

    /// A buffer without bytes, for a job that needs none; it is returned like any other.
    mutating func takeEmpty() -> IOBuffer {
        takenCount += 1
        return idle.popLast() ?? IOBuffer(capacity: Self.bufferByteCount)
    }

    mutating func give(_ buffer: IOBuffer) {
        buffer.count = 0
        takenCount -= 1
        // The memory of a burst of many transfers is released.
        if idle.count < Self.maxIdleBuffers { idle.append(buffer) }
    }
}
