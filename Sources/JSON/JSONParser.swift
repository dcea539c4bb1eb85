internal import CJansson

/// Parses one JSON value of any type within `JSONLimits`; nothing but white space may surround it.
///
/// Strings may contain U+0000, so that an error can name the member; keys may not.
/// Isolation: any thread.  C: json_loadb
package func parseJSON(_ bytes: borrowing RawSpan) throws(JSONParseError) -> JSONValue {
    // Safety: the pointer is used only during the call.
    try unsafe bytes.withUnsafeBytes { (buffer: UnsafeRawBufferPointer) throws(JSONParseError) -> JSONValue in
        try unsafe parse(buffer)
    }
}

/// As `parseJSON` of a span.
package func parseJSON(_ bytes: [UInt8]) throws(JSONParseError) -> JSONValue {
    // Safety: bytes of a byte array are initialised.
    try unsafe parseJSON(bytes.span.bytes)
}

/// As `parseJSON` of a span.
package func parseJSON(_ text: String) throws(JSONParseError) -> JSONValue {
    try parseJSON(Array(text.utf8))
}

private func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONParseError) -> JSONValue {
    guard let start = bytes.baseAddress, bytes.count > 0 else {
        throw JSONParseError(kind: .truncated, byteOffset: 0)
    }
    let scan = try unsafe JSONScan(bytes)
    var error = json_error_t()
    let flags = Int(JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY)
    // Safety: json_loadb reads `bytes.count` bytes and keeps no pointer to them.
    let root = unsafe json_loadb(start.assumingMemoryBound(to: CChar.self), bytes.count, flags, &error)
    guard let root = unsafe root else {
        let kind = unsafe errorKind(json_error_code(UInt32(cjansson_error_code(&error))))
        throw JSONParseError(kind: kind, byteOffset: min(max(Int(error.position), 0), bytes.count))
    }
    defer { unsafe cjansson_release(root) }
    var conversion = unsafe Conversion(bytes: bytes, numbers: scan.numbers[...])
    return unsafe conversion.value(of: root)
}

private func errorKind(_ code: json_error_code) -> JSONParseError.Kind {
    switch code {
    case json_error_premature_end_of_input: .truncated
    case json_error_invalid_utf8: .invalidUTF8
    case json_error_null_byte_in_key: .containsNUL
    case json_error_duplicate_key: .duplicateKey
    case json_error_numeric_overflow: .numberOutOfRange
    case json_error_stack_overflow: .tooDeep
    case json_error_out_of_memory: .outOfMemory
    default: .syntax
    }
}

/// Converts jansson's tree to ours. The tree keeps the text's order, so its n-th number is the scan's n-th.
///
/// Safety: exists only within `parse`, as the bytes and the tree do.
@safe private struct Conversion {
    let bytes: UnsafeRawBufferPointer
    var numbers: ArraySlice<Range<Int>>

    // Recursion ends at JSONLimits.depth, which the scan has enforced.
    mutating func value(of node: UnsafeMutablePointer<json_t>) -> JSONValue {
        switch unsafe cjansson_type(node) {
        case JSON_TRUE: .bool(true)
        case JSON_FALSE: .bool(false)
        case JSON_INTEGER: unsafe integer(json_integer_value(node))
        case JSON_REAL: unsafe real(json_real_value(node))
        case JSON_STRING: unsafe .string(string(json_string_value(node), json_string_length(node)))
        case JSON_ARRAY: unsafe array(of: node)
        case JSON_OBJECT: unsafe object(of: node)
        default: .null
        }
    }

    private mutating func integer(_ value: json_int_t) -> JSONValue {
        let text = nextNumber()
        // The only integer that would lose information.
        if let text, text == "-0" { return .real(JSONReal(value: -0.0, text: text)) }
        return .integer(Int64(value))
    }

    private mutating func real(_ value: Double) -> JSONValue {
        .real(JSONReal(value: value, text: nextNumber() ?? value.description))
    }

    private mutating func nextNumber() -> String? {
        guard let range = numbers.popFirst() else { return nil }
        return unsafe String(decoding: bytes[range], as: UTF8.self)
    }

    private func string(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
        // jansson has checked that it is UTF-8; it may contain NUL bytes, so the length counts.
        unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }

    private mutating func array(of node: UnsafeMutablePointer<json_t>) -> JSONValue {
        var elements: [JSONValue] = []
        let count = unsafe json_array_size(node)
        elements.reserveCapacity(count)
        for index in 0..<count {
            if let element = unsafe json_array_get(node, index) { unsafe elements.append(value(of: element)) }
        }
        return .array(elements)
    }

    private mutating func object(of node: UnsafeMutablePointer<json_t>) -> JSONValue {
        var members: [JSONObject.Member] = []
        unsafe members.reserveCapacity(json_object_size(node))
        var iterator = unsafe json_object_iter(node)
        while let here = unsafe iterator {
            if let member = unsafe json_object_iter_value(here) {
                let key = unsafe string(json_object_iter_key(here), json_object_iter_key_len(here))
                unsafe members.append((key: key, value: value(of: member)))
            }
            unsafe iterator = json_object_iter_next(node, here)
        }
        return .object(JSONObject(parsed: members))
    }
}
