internal import Platform

/// The buffers for one transfer's body: full ones, the one being filled, and empty spares.
///
/// The body is in the full buffers, in order, then in the current one.
struct BodyBuffers {
    private(set) var full: [IOBuffer] = []
    private var current: IOBuffer?
    private var spares: [IOBuffer] = []

    init() {}

    /// The bytes in the buffers.
    var byteCount: Int { full.reduce(currentByteCount) { $0 + $1.count } }
    var currentByteCount: Int { current?.count ?? 0 }

    /// The free space in bytes.
    var room: Int {
        spares.reduce(current.map { $0.capacity - $0.count } ?? 0) { $0 + $1.capacity }
    }

    /// Appends all the bytes or, when they do not fit, none: a paused transfer delivers the whole piece again.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if room < bytes.count { return false }
        var done = 0
        while done < bytes.count, let buffer = current {
            done += unsafe buffer.append(UnsafeRawBufferPointer(rebasing: bytes[done...]))
            if buffer.isFull {
                full.append(buffer)
                current = spares.popLast()
            }
        }
        return true
    }

    mutating func give(_ buffer: IOBuffer) {
        buffer.count = 0
        if current == nil { current = buffer } else { spares.append(buffer) }
    }

    mutating func takeFull() -> [IOBuffer] {
        let taken = full
        full = []
        return taken
    }

    mutating func takeCurrent() -> IOBuffer? {
        guard let taken = current, taken.count > 0 else { return nil }
        current = spares.popLast()
        return taken
    }

    mutating func takeUnused() -> [IOBuffer] {
        var taken = spares
        spares = []
        if let current, current.count == 0 {
            taken.append(current)
            self.current = nil
        }
        return taken
    }

    /// Whether the buffered bytes begin with these.
    func starts(with bytes: [UInt8]) -> Bool {
        var left = bytes[...]
        for buffer in full + (current.map { [$0] } ?? []) {
            let part = left.prefix(buffer.count)
            // Safety: neither pointer leaves its block.
            let isEqual = buffer.withBytes { held in
                unsafe held.withUnsafeBytes { held in
                    unsafe part.withUnsafeBytes { unsafe held.prefix($0.count).elementsEqual($0) }
                }
            }
            if !isEqual { return false }
            left = left.dropFirst(part.count)
        }
        return left.isEmpty
    }

    /// Drops up to this many of the first buffered bytes; returns how many were dropped.
    mutating func dropFirst(_ byteCount: Int) -> Int {
        var left = byteCount
        while left > 0, let first = full.first {
            let part = min(left, first.count)
            first.dropFirst(part)
            left -= part
            if first.count == 0 { give(full.removeFirst()) }
        }
        if let current {
            let part = min(left, current.count)
            current.dropFirst(part)
            left -= part
        }
        return byteCount - left
    }

    /// Drops up to this many of the last buffered bytes; returns how many were dropped.
    mutating func dropLast(_ byteCount: Int) -> Int {
        var left = byteCount
        if let current {
            let part = min(left, current.count)
            current.count -= part
            left -= part
        }
        while left > 0, let last = full.last {
            let part = min(left, last.count)
            last.count -= part
            left -= part
            if last.count == 0 { give(full.removeLast()) } else { break }
        }
        return byteCount - left
    }
}
