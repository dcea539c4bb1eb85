internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let start = MethodDescription(
        name: "start",
        summary: "Starts a download, or finds the one that the same request started before.",
        kind: .change,
        parameters: [
            Member(
                "url",
                Parameter.url,
                "What to download: http or https. Required unless resumeData contains the whole URL."
            ),
            Member("path", Parameter.path, "Path of the finished file; relative to the service's working directory."),
            Member("directory", Parameter.path, "Directory for a file whose name the response suggests."),
            Member(
                "fileName", .string(TextRule(1...maxFileNameByteCount, limit: "fileNameBytes")),
                "Name of the file in directory."),
            Member("id", Parameter.id, "An id that the client chooses; makes the request safe to repeat."),
            Member("checksum", .component(Components.checksum), "The digest that the finished file must have."),
            Member(
                "ifExists",
                .component(Words.ifExists),
                "What to do if the destination exists.",
                defaultValue: "error"
            ),
            Member(
                "onChange",
                .component(Words.onChange),
                "What to do if the server's file changed after a part of it was received.",
                defaultValue: "restart"
            ),
            Member(
                "resumePolicy",
                .component(Words.resumePolicy),
                "How much proof a resume needs that the file is the same.",
                defaultValue: "strict"
            ),
            Member(
                "resumeData",
                Parameter.resumeData,
                "The text from export; continues with its partial file. Can be used once."
            ),
            Member("maxFileBytes", .count, "Fail if the file is longer; no limit if left out."),
            Member("priority", .integer(Limits.priority), "Higher starts first.", defaultValue: 0),
            Member("startPaused", .boolean, "Only create the record; resume starts the download.", defaultValue: false),
            Member("background", .boolean, "Continue when the host exits.", defaultValue: false),
            Member(
                "events", Parameter.eventSelection,
                "Which events to send for this download; if left out, as in initialize, else all."),
            Member(
                "metadata", .anyObject(maxByteCount: Limits.metadataByteCount),
                "The client's own object, stored with the download."),
        ] + Parameter.defaults,
        requiredOneOf: ["url", "resumeData"],
        resultName: "started",
        result: .component(
            Component(
                "StartResult", "The answer to start.",
                .object(
                    [
                        .always("download", .component(Components.download), "As it is now."),
                        Components.answerSeq,
                        .always("created", .boolean, "False if the record existed before."),
                        .always("resumed", .boolean, "True if an interrupted download continues."),
                    ],
                    isClosed: false
                ))),
        errors: [
            .destinationConflict, .idConflict, .unsupportedUrl, .permissionDenied,
            .storageFailure, .resumeDataUnusable,
        ],
        handle: startDownload
    )
}

/// Bytes of a file name that a client gives; the suffix of the partial file must still fit.
let maxFileNameByteCount = Limits.fileNameByteCount - FileName.partialSuffix.utf8.count

private func startDownload(
    _ session: Session,
    _ params: JSONObject,
    _ call: Call,
    _ engine: isolated DownloadEngine
) throws(RPCError) {
    let resumeData = try params["resumeData"]?.string.map { (text) throws(RPCError) in
        try readResumeData(text, session)
    }
    var options = session.defaults
    if let resumeData {
        options = resumeData.options
        options.headers = session.defaults.headers
    }
    try options.apply(defaults: params, at: "")
    if let object = params["checksum"]?.object { options.checksum = try Checksum(object, at: "checksum") }
    if let text = params["ifExists"]?.string { options.ifExists = IfExists(rawValue: text) ?? .error }
    if let text = params["onChange"]?.string { options.onChange = OnChange(rawValue: text) ?? .restart }
    if let text = params["resumePolicy"]?.string { options.resumePolicy = ResumePolicy(rawValue: text) ?? .strict }
    if let count = params["maxFileBytes"]?.integer { options.maxFileByteCount = count }
    if let priority = params["priority"]?.integer { options.priority = priority }
    if let isBackground = params["background"]?.bool { options.isBackground = isBackground }
    let selection = params["events"]?.string.flatMap(EventSelection.init) ?? session.eventSelection
    let request = StartRequest(
        id: params["id"]?.string,
        url: try url(params, resumeData),
        destination: try destination(params, resumeData, session),
        options: options,
        metadataText: params["metadata"].map { String(decoding: $0.serialized(), as: UTF8.self) },
        startsPaused: params["startPaused"]?.bool ?? false,
        resumeData: resumeData
    )
    let isBackground = options.isBackground
    if isBackground { session.pendingBackgroundCount += 1 }
    engine.start(request) { result in
        if isBackground { session.pendingBackgroundCount -= 1 }
        switch result {
        case .failure(let error):
            session.fail(call, RPCError(error, destinationFrom: parameter(of: error, params, request.destination)))
        case .success(let answer):
            let more: JSONObject = ["created": .bool(answer.isCreated), "resumed": .bool(answer.isResumed)]
            session.answer(call, showing: answer.download, more)
            session.followStarted(answer.download, selection, isBackground: isBackground, engine)
        }
    }
}

/// The parameter that gave a destination whose name is too long.
private func parameter(
    of error: EngineError, _ params: JSONObject, _ destination: StartRequest.Destination
) -> String {
    guard case .nameTooLong(let path, _, _) = error else { return "" }
    if params["path"] != nil { return "path" }
    if params["fileName"] != nil, path.hasPrefix(destination.path) { return "fileName" }
    return params["directory"] != nil ? "directory" : "resumeData"
}

/// Parses and checks resume data; the paths in it must be allowed here.
private func readResumeData(_ text: String, _ session: Session) throws(RPCError) -> ResumeData {
    let data: ResumeData
    do throws(ResumeDataError) {
        data = try ResumeData(text)
    } catch {
        throw .parameter("resumeData", error.message)
    }
    if let path = data.partialPath { _ = try session.resolve(path, at: "resumeData") }
    return data
}

private func url(_ params: JSONObject, _ resumeData: ResumeData?) throws(RPCError) -> String {
    if let url = params["url"]?.string { return url }
    guard let resumeData else { throw .parameter("url", "is required") }
    if resumeData.isURLWhole { return resumeData.url }
    throw .parameter("url", "is required: the resume data leaves out the query or userinfo of \(resumeData.url)")
}

/// The destination from `path`, or from `directory` and `fileName`, or else from the resume data.
private func destination(
    _ params: JSONObject, _ resumeData: ResumeData?, _ session: Session
) throws(RPCError) -> StartRequest.Destination {
    if params["path"] == nil, params["fileName"] == nil, let resumeData {
        return try destination(params["directory"]?.string, resumeData, session)
    }
    return try destination(params, session)
}

/// The destination from the resume data; with `directory`, the same name in that directory.
private func destination(
    _ directory: String?, _ resumeData: ResumeData, _ session: Session
) throws(RPCError) -> StartRequest.Destination {
    guard let path = resumeData.path else {
        let place = directory ?? resumeData.directory ?? "."
        return .directory(path: try session.resolve(place, at: directory == nil ? "resumeData" : "directory"))
    }
    guard let directory else { return .file(path: try file(path, at: "resumeData", session)) }
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
    return .file(path: try file(directory + "/" + name, at: "directory", session))
}

private func destination(_ params: JSONObject, _ session: Session) throws(RPCError) -> StartRequest.Destination {
    let fileName = params["fileName"]?.string
    if let fileName, !Paths.isComponent(fileName) {
        throw .parameter("fileName", "expected a name without slashes or NUL, not . or ..")
    }
    if let path = params["path"]?.string {
        if params["directory"] != nil || fileName != nil {
            throw .parameter("path", "cannot be combined with directory or fileName")
        }
        if Paths.namesDirectory(path) { throw .parameter("path", "names a directory: use directory instead") }
        return .file(path: try file(path, at: "path", session))
    }
    guard let directory = params["directory"]?.string else {
        if session.isInitialized { throw .parameter("", "path or directory is required after initialize") }
        if let fileName { return .file(path: try file(fileName, at: "fileName", session)) }
        return .directory(path: try session.resolve(".", at: "directory"))
    }
    let path = try session.resolve(directory, at: "directory")
    guard let fileName else { return .directory(path: path) }
    return .file(path: try file(path + "/" + fileName, at: "fileName", session))
}

/// The path of a file; the suffix of the partial file must still fit after its name.
private func file(_ path: String, at member: String, _ session: Session) throws(RPCError) -> String {
    let whole = try session.resolve(path, at: member)
    let name = whole.utf8.split(separator: UInt8(ascii: "/")).last
    if let name, name.count > maxFileNameByteCount {
        let problem = "expected a file name of at most \(maxFileNameByteCount) bytes, got \(name.count)"
        let limit = NamedLimit(name: "fileNameBytes", maximum: Int64(maxFileNameByteCount))
        throw .parameter(member, problem, limit: limit)
    }
    return whole
}
