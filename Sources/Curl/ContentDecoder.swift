internal import CZlib
internal import Core

/// Decompresses one response body piece by piece.
///
/// The output is complete only if `isAtEnd` when the body ends: the stream marks its own end and, unless it is raw,
/// carries a checksum.
/// Not Sendable; used by the transfer's callbacks.
@safe final class ContentDecoder {
    private struct Step {
        /// Input bytes consumed.
        var usedByteCount = 0
        /// Output bytes written.
        var madeByteCount = 0
    }

    enum Failure: Error {
        /// Not a stream of this coding, or its checksum does not match.
        case damaged
        case noMemory
    }

    private let coding: ContentCoding.Compression
    // Safety: created for the first byte, freed once in deinit, never leaves this class.
    private var inflation: OpaquePointer?
    /// How many bytes went into buffers, also before a failure.
    private(set) var madeByteCount: Int64 = 0
    /// True when the last stream has ended and no other has begun.
    private(set) var isAtEnd = false
    /// True after bytes that follow a stream and belong to none: they are ignored.
    private var ignoresRest = false
    /// True for raw deflate, which has no checksum.
    private var isRaw = false
    /// How many bytes of a refused piece were already consumed.
    private var usedPieceByteCount = 0

    init(_ coding: ContentCoding.Compression) {
        self.coding = coding
    }

    deinit {
        if let inflation = unsafe inflation { unsafe czlib_inflation_free(inflation) }
    }

    /// Decodes a piece into the buffers; false when the buffers are full before its end.
    ///
    /// The piece then counts as refused, as in a paused transfer: pass it again from its first byte.
    func decode(_ piece: UnsafeRawBufferPointer, into buffers: inout BodyBuffers) throws(Failure) -> Bool {
        var usedByteCount = min(usedPieceByteCount, piece.count)
        while true {
            let room = min(buffers.room, Self.maxStepByteCount)
            if room == 0 {
                usedPieceByteCount = usedByteCount
                return false
            }
            let rest = unsafe UnsafeRawBufferPointer(rebasing: piece[usedByteCount...])
            let step = try unsafe withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) {
                output throws(Failure) in
                let step = try unsafe inflate(rest, into: output)
                _ = unsafe buffers.append(UnsafeRawBufferPointer(rebasing: output[..<step.madeByteCount]))
                return step
            }
            usedByteCount += step.usedByteCount
            madeByteCount += Int64(step.madeByteCount)
            // The output did not fill the space, so there is no more.
            if step.madeByteCount < room {
                guard usedByteCount == piece.count else { throw .damaged }
                usedPieceByteCount = 0
                return true
            }
        }
    }

    /// Decodes as much as possible from `input` into `output`.
    private func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(Failure) -> Step {
        var step = Step()
        while step.madeByteCount < output.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: input[step.usedByteCount...])
            if unsafe rest.isEmpty, isAtEnd || !isBegun { break }
            guard try unsafe isReady(for: rest.first) else {
                step.usedByteCount = input.count
                break
            }
            guard let inflation = unsafe inflation, let base = output.baseAddress else { throw .noMemory }
            var usedByteCount = rest.count
            var madeByteCount = output.count - step.madeByteCount
            let state = unsafe czlib_inflate(
                inflation, rest.baseAddress, &usedByteCount, base + step.madeByteCount, &madeByteCount)
            step.usedByteCount += usedByteCount
            step.madeByteCount += madeByteCount
            switch state {
            case CZLIB_GOES_ON: if usedByteCount == 0, madeByteCount == 0 { return step }
            case CZLIB_ENDED: isAtEnd = true
            case CZLIB_NO_MEMORY: throw .noMemory
            default: throw .damaged
            }
        }
        return step
    }

    private var isBegun: Bool { unsafe inflation != nil }

    /// Starts a stream if none is running; false when the bytes start no stream and must be ignored.
    private func isReady(for first: UInt8?) throws(Failure) -> Bool {
        if ignoresRest { return false }
        guard let first else { return true }
        if !isBegun {
            let format = format(first)
            isRaw = format == CZLIB_RAW
            unsafe inflation = czlib_inflation_new(format)
            if !isBegun { throw .noMemory }
        } else if isAtEnd {
            // Another member may follow (RFC 1952, 2.2); anything else is padding, as in gzip(1) and browsers.
            guard coding == .gzip, first == Self.gzipMagic, let inflation = unsafe inflation else {
                // A raw stream has no checksum: only the matching end shows that it was a stream.
                if isRaw { throw .damaged }
                ignoresRest = true
                return false
            }
            unsafe czlib_inflation_reset(inflation)
            isAtEnd = false
        }
        return true
    }

    private static let maxStepByteCount = 16_384
    private static let gzipMagic: UInt8 = 0x1f

    /// `deflate` means RFC 1950, but some servers send raw deflate (RFC 9110, 8.4.1.2).
    private func format(_ first: UInt8) -> czlib_format {
        switch coding {
        case .gzip: CZLIB_GZIP
        case .deflate: first & 0x0f == 8 && first >> 4 <= 7 ? CZLIB_ZLIB : CZLIB_RAW
        }
    }
}
