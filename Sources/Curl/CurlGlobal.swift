internal import CCurl
internal import Glibc

/// libcurl's global state.
package enum CurlGlobal {
    // A static is initialised once, by the first thread that uses it.
    private static let initialization: CURLcode = {
        _ = isLocaleSet
        _ = CertificateAuthorities.path
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    }()

    /// libidn2, which libcurl uses for non-ASCII host names, expects text in the locale's charset; ours is always
    /// UTF-8.
    ///
    /// Sets characters only; messages and numbers stay as they are.  C: setlocale(3)
    static let isLocaleSet: Bool = {
        let names: [String] = ["C.UTF-8", "C.utf8", "en_US.UTF-8"]
        return names.contains { name in unsafe setlocale(LC_CTYPE, name) != nil }
    }()

    /// Initialises libcurl once for the process; later calls repeat the first result.
    ///
    /// Isolation: any thread.  C: curl_global_init(3)
    package static func start() throws(CurlError) {
        let code = initialization
        if code != CURLE_OK { throw CurlError(code, "global_init") }
        if !ccurl_is_recent_enough() {
            let detail = "libcurl 7.88 or newer is needed; this is \(version)"
            throw CurlError(code: Int(CURLE_NOT_BUILT_IN.rawValue), operation: "global_init", detail: detail)
        }
    }

    /// The version of libcurl at run time, such as `7.88.1`.  C: curl_version_info(3)
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
