internal import Platform

/// The proxy variables that libcurl reads.  Their values may contain passwords: only names leave this file.
enum ProxyVariables {
    /// The first variable that is set, those for the scheme first; nil when none is.
    ///
    /// Without `HTTP_PROXY`: a web server sets it for its scripts from a request header (CVE-2016-5385).
    static func first(for scheme: ParsedURL.Scheme) -> String? {
        let http = ["http_proxy"]
        let https = ["https_proxy", "HTTPS_PROXY"]
        let all = ["all_proxy", "ALL_PROXY"]
        let names = scheme == .http ? http + all + https : https + all + http
        return names.first { environmentVariable($0).map { !$0.isEmpty } ?? false }
    }
}
