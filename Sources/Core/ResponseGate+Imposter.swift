// 200 with something that is not the file: an error or log-in page that says of itself that all is well.
extension ResponseGate {
    /// The refusal of a whole body that would drop what is held and does not look like the file; nil for one that does.
    ///
    /// A new version of a file has validators as the one before had, and its type or a length of its kind.
    static func somethingElse(_ context: GateContext, _ entity: Entity) -> GateDecision? {
        guard !context.held.isEmpty, let known = context.entity else { return nil }
        // A validator alone is believed only with the length that goes with it: error pages are sent under the file's own.
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
                "The server answers with something else where the file was\(type(entity)). The bytes held are kept."
            return .needsURL(DownloadFailure(.urlExpired, message, isRetryable: false, httpStatus: 200))
        }
        // Unless what is held stays, or a digest of the whole will tell.
        let isSafe = context.onChange == .keepBoth || context.hasChecksum
        return lacksValidators && !isSafe ? .remoteChanged(.noValidator) : nil
    }

    /// Where the type was never told, only one that pages and messages have counts.
    private static func isOtherType(_ known: Entity, _ entity: Entity) -> Bool {
        guard let type = entity.contentType.map(HTTPGrammar.mediaType) else { return false }
        if let before = known.contentType.map(HTTPGrammar.mediaType) { return type != before }
        return type.hasPrefix("text/") || type.hasSuffix("json") || type.hasSuffix("xml")
    }

    private static func isFarSmaller(_ context: GateContext, _ known: Entity, _ entity: Entity) -> Bool {
        // Where the length was told, it is told of the next version too.
        guard let byteCount = entity.totalByteCount else { return known.totalByteCount != nil }
        let before = known.totalByteCount ?? context.held.byteCount
        return byteCount < before / Limits.farSmallerDivisor
    }

    private static func hasSameValidator(_ known: Entity, _ entity: Entity) -> Bool {
        if let etag = known.etag { return etag == entity.etag }
        return known.lastModified != nil && known.lastModified == entity.lastModified
    }

    /// It has none of the fields that told the version before.
    private static func lacksValidators(_ known: Entity, _ entity: Entity) -> Bool {
        if known.etag == nil && known.lastModified == nil { return false }
        return (known.etag == nil || entity.etag == nil) && (known.lastModified == nil || entity.lastModified == nil)
    }

    private static func type(_ entity: Entity) -> String {
        guard let type = entity.contentType.map(HTTPGrammar.mediaType), HTTPGrammar.isMediaType(type) else { return "" }
        return " (\(type))"
    }
}
