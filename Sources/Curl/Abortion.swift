internal import Core

/// Why one of our callbacks aborted a transfer.
enum Abortion {
    case headTooLarge
    case malformedHead(MalformedField)
    case bodyTooLong
    case undecodable
    case outOfMemory

    /// The failure of the download; `peer` is `host:port`.
    func failure(_ peer: String, wasReused: Bool) -> DownloadFailure {
        switch self {
        case .headTooLarge:
            DownloadFailure(.headersTooLarge, "the response header of \(peer) is too large", isRetryable: false)
        case .malformedHead(let field):
            // On a reused connection the bytes may be left over from an earlier response.
            DownloadFailure(.protocol, "the \(field.name) of \(peer) \(field.rule)", isRetryable: wasReused)
        case .bodyTooLong:
            DownloadFailure(.protocol, "\(peer) sent more data than it announced", isRetryable: true)
        case .undecodable:
            DownloadFailure(.protocol, "the compressed response of \(peer) is damaged", isRetryable: true)
        case .outOfMemory:
            DownloadFailure(.internal, "there is not enough memory to decompress the response", isRetryable: true)
        }
    }
}
