// 200 with something other than the file: an error or login page.
extension ResponseGate {
    /// The refusal of a whole body that would replace stored bytes and does not look like the file; nil for one that
    /// does.
    ///
    /// A new version has validators if the old one had, and the same type or a similar length.
    static func somethingElse(_ context: GateContext, _ entity: Entity) -> GateDecision? {
        guard !context.held.isEmpty, let known = context.entity else { return nil }
        // A validator counts only with the same length: some servers send error pages with the file's validator.
        let isLengthSame = known.totalByteCount == entity.totalByteCount
        if isLengthSame, known.likeness(to: entity) == .same { return nil }
        let isOtherType = isOtherType(known, entity)
        let isFarSmaller = isFarSmaller(context, known, entity)
        let isPage = entity.isWebPage && !known.isWebPage && known.contentType != nil
        let lacksValidators = lacksValidators(known, entity)
        // Two versions would have two validators.
        let isContradiction =
            hasSameValidator(known, entity) && entity.totalByteCount != nil && isFarSmaller
            && !isRemainder(context, entity.totalByteCount)
        if isPage || isContradiction || isOtherType && isFarSmaller || lacksValidators && (isOtherType || isFarSmaller)
        {
            let message =
                "The server sends something other than the file\(type(entity)). The stored bytes are kept."
            return .needsURL(DownloadFailure(.urlExpired, message, isRetryable: false, httpStatus: 200))
        }
        // Accepted when the stored bytes are kept, or when the file has a checksum.
        let isSafe = context.onChange == .keepBoth || context.hasChecksum
        return lacksValidators && !isSafe ? .remoteChanged(.noValidator) : nil
    }

    /// When the earlier type is unknown, only types that pages and messages use count.
    private static func isOtherType(_ known: Entity, _ entity: Entity) -> Bool {
        guard let type = entity.contentType.map(HTTPGrammar.mediaType) else { return false }
        if let before = known.contentType.map(HTTPGrammar.mediaType) { return type != before }
        return type.hasPrefix("text/") || type.hasSuffix("json") || type.hasSuffix("xml")
    }

    private static func isFarSmaller(_ context: GateContext, _ known: Entity, _ entity: Entity) -> Bool {
        // A server that sent the length before also sends it for the next version.
        guard let byteCount = entity.totalByteCount else { return known.totalByteCount != nil }
        let before = known.totalByteCount ?? context.held.byteCount
        return byteCount < before / Limits.farSmallerDivisor
    }

    private static func hasSameValidator(_ known: Entity, _ entity: Entity) -> Bool {
        if let etag = known.etag { return etag == entity.etag }
        return known.lastModified != nil && known.lastModified == entity.lastModified
    }

    /// It has none of the validators that the earlier version had.
    private static func lacksValidators(_ known: Entity, _ entity: Entity) -> Bool {
        if known.etag == nil && known.lastModified == nil { return false }
        return (known.etag == nil || entity.etag == nil) && (known.lastModified == nil || entity.lastModified == nil)
    }

    private static func type(_ entity: Entity) -> String {
        guard let type = entity.contentType.map(HTTPGrammar.mediaType), HTTPGrammar.isMediaType(type) else { return "" }
        return " (\(type))"
    }
}
