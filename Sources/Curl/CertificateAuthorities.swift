internal import CCurl
internal import Glibc
internal import Platform

/// The file of certificate authorities that server certificates are checked against.
enum CertificateAuthorities {
    /// The file that the environment names, or this system's file when libcurl was built for another system; nil:
    /// libcurl's default.
    ///
    /// Read once, at `CurlGlobal.start`: the loop makes no file calls.
    static let path: String? = named ?? systemPath

    /// The variables are those of the curl tool and of OpenSSL.
    private static var named: String? {
        ["CURL_CA_BUNDLE", "SSL_CERT_FILE"].lazy.compactMap(environmentVariable).first { !$0.isEmpty }
    }

    /// A libcurl from a package uses the path of the system it was built on. Without that file it refuses every server.
    private static var systemPath: String? {
        guard let expected = unsafe ccurl_default_ca_file().map({ unsafe String(cString: $0) }),
            !isReadable(expected)
        else { return nil }
        return systemPaths.first(where: isReadable)
    }

    /// Debian and Alpine, Fedora and RHEL, openSUSE, BSDs and macOS.
    private static let systemPaths = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/cacert.pem",
        "/etc/ssl/cert.pem",
    ]

    private static func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }
}
