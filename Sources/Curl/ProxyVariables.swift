internal import Platform

/// The environment variables that libcurl takes a proxy from.  Their values may hold passwords: only names leave this file.
enum ProxyVariables {
    /// The first that is set, those for the scheme before the others'; nil when none is.
    ///
    /// Not `HTTP_PROXY`: a web server gives that to its scripts, filled in by whoever asks (CVE-2016-5385).
    static func first(for scheme: ParsedURL.Scheme) -> String? {
        let http = ["http_proxy"]
        let https = ["https_proxy", "HTTPS_PROXY"]
        let all = ["all_proxy", "ALL_PROXY"]
        let names = scheme == .http ? http + all + https : https + all + http
        return names.first { environmentVariable($0).map { !$0.isEmpty } ?? false }
    }
}
