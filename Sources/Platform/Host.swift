internal import CPlatform
internal import Glibc

/// The kernel's id of this boot: while it is the same, bytes in the page cache are not lost.
///
/// Empty when it cannot be read; callers must then treat every boot as another one.
package func bootID() -> String {
    guard let bytes = try? readFile("/proc/sys/kernel/random/boot_id", limitByteCount: 64) else { return "" }
    return String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
}

/// Random bytes that cannot be guessed.  C: getrandom(2)
package func randomBytes(count: Int) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let code = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe buffer.baseAddress.map { unsafe cplatform_random($0, buffer.count) } ?? 0
    }
    if code != 0 { throw .current }
    return bytes
}

/// The resident memory of this process in KiB, or -1.  See proc(5), statm.
package func residentKibibytes() -> Int {
    guard let bytes = try? readFile("/proc/self/statm", limitByteCount: 128) else { return -1 }
    let fields = bytes.split(separator: UInt8(ascii: " "))
    guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return -1 }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE))) / 1024
}

/// Limits the number of heaps that threads create; call before the first thread starts.
package func limitHeapArenas(_ count: Int32) {
    cplatform_limit_arenas(count)
}
