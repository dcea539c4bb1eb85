internal import CCurl

// CURL_WRITEFUNC_ERROR is never a byte count, so it fails the transfer even for an empty piece.
let abortCode = Int(CURL_WRITEFUNC_ERROR)

// File scope, not closures: C calls them, so they may carry no isolation.
func writeCallback(
    _ data: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return abortCode }
    // Safety: see `Transfer.init`; size is always 1 (CURLOPT_WRITEFUNCTION(3)).
    let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    return unsafe transfer.receive(UnsafeRawBufferPointer(start: data, count: count))
}

func headerCallback(
    _ data: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return abortCode }
    // Safety: as above.
    let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    return unsafe transfer.receiveHeaderLine(UnsafeRawBufferPointer(start: data, count: count))
}

func debugCallback(
    _ easy: OpaquePointer, _ type: curl_infotype, _ data: UnsafeMutablePointer<CChar>?, _ size: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard type == CURLINFO_SSL_DATA_IN, let data = unsafe data, let context = unsafe context else { return 0 }
    // Safety: as above.
    let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    unsafe transfer.noteTLSRecord(UnsafeRawBufferPointer(start: data, count: size))
    return 0
}

func openSocketCallback(
    _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>
) -> curl_socket_t {
    if let context = unsafe context {
        // Safety: as above; the address is as long as libcurl says.
        let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        let bytes = unsafe UnsafeRawBufferPointer(
            start: ccurl_address_bytes(address), count: Int(address.pointee.addrlen))
        unsafe transfer.noteAddress(bytes)
    }
    return unsafe ccurl_open_socket(address)
}
