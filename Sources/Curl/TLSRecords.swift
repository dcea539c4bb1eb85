/// What TLS told of how a connection ends, by the messages that libcurl shows of its records.
///
/// libcurl 7.88 takes an end without close_notify for a right one.
struct TLSRecords {
    /// False as long as nothing was shown: not every TLS library lets libcurl see its records.
    private var isShown = false
    private var hasCloseNotify = false

    /// True when the records are shown and no close_notify was among them.
    var isEndMissing: Bool { isShown && !hasCloseNotify }

    /// Takes one message as CURLINFO_SSL_DATA_IN has it: of all of them only an alert has two bytes (RFC 8446, 6).
    mutating func note(_ message: UnsafeRawBufferPointer) {
        isShown = true
        if message.count == 2, unsafe message[1] == Self.closeNotify { hasCloseNotify = true }
    }

    private static let closeNotify: UInt8 = 0
}
