internal import CCurl

/// libcurl as a whole.
package enum CurlGlobal {
    // A static is initialised once, by whichever thread comes first.
    private static let initialization: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// Initialises libcurl once for the process; later calls only repeat the first one's answer.
    ///
    /// Isolation: any thread.  C: curl_global_init(3)
    package static func start() throws(CurlError) {
        let code = initialization
        if code != CURLE_OK { throw CurlError(code, "global_init") }
        if !ccurl_is_recent_enough() {
            let detail = "libcurl 7.87 or newer is needed; this is \(version)"
            throw CurlError(code: Int(CURLE_NOT_BUILT_IN.rawValue), operation: "global_init", detail: detail)
        }
    }

    /// The version of the libcurl we run with, such as `7.88.1`.  C: curl_version_info(3)
    package static var version: String {
        unsafe ccurl_version().map { unsafe String(cString: $0) } ?? ""
    }
}

extension CurlError {
    init(_ code: CURLcode, _ operation: String) {
        let text = unsafe curl_easy_strerror(code).map { unsafe String(cString: $0) } ?? ""
        self.init(code: Int(code.rawValue), operation: operation, detail: text)
    }

    init(_ code: CURLMcode, _ operation: String) {
        let text = unsafe curl_multi_strerror(code).map { unsafe String(cString: $0) } ?? ""
        self.init(code: Int(code.rawValue), operation: "multi \(operation)", detail: text)
    }
}
