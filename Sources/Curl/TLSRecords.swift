/// Whether TLS announced the end of a connection, judged from the messages that libcurl shows.
///
/// libcurl 7.88 accepts an end without close_notify.
struct TLSRecords {
    /// False until a message was shown: not every TLS library shows its records to libcurl.
    private var isShown = false
    private var hasCloseNotify = false

    /// True when records are shown and none was a close_notify.
    var isEndMissing: Bool { isShown && !hasCloseNotify }

    /// Takes one message of CURLINFO_SSL_DATA_IN: only an alert has two bytes (RFC 8446, 6).
    mutating func note(_ message: UnsafeRawBufferPointer) {
        isShown = true
        if message.count == 2, unsafe message[1] == Self.closeNotify { hasCloseNotify = true }
    }

    private static let closeNotify: UInt8 = 0
}
