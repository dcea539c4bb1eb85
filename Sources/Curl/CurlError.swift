/// A failed libcurl call outside a transfer: creating handles, setting options, driving the multi.
///
/// A failed transfer is a `DownloadFailure` of Core instead.
package struct CurlError: Error, Equatable, Sendable {
    /// A CURLcode, or a CURLMcode where `operation` begins with `multi`.
    package let code: Int
    /// The call or option that failed.
    package let operation: String
    /// libcurl's text for the code, or our own; contains no URL, header or secret.
    package let detail: String

    package init(code: Int, operation: String, detail: String) {
        self.code = code
        self.operation = operation
        self.detail = detail
    }
}
