internal import Engine
internal import JSON
internal import RPC

// Receiving requests and answering them.
extension Session {
    func receive(_ incoming: Incoming, byteCount: Int, _ engine: isolated DownloadEngine) {
        switch incoming {
        case .single(let message): receive(message, slot: nil, byteCount: byteCount, engine)
        case .batch(let messages):
            let batch = Batch(count: messages.count, byteCount: byteCount)
            for (index, message) in messages.enumerated() {
                receive(message, slot: BatchSlot(batch: batch, index: index), byteCount: nil, engine)
            }
        }
    }

    private func receive(_ message: Message, slot: BatchSlot?, byteCount: Int?, _ engine: isolated DownloadEngine) {
        switch message {
        case .request(let id, let name, let params):
            guard let method = MethodTable.method(name) else {
                let isKnown = MethodTable.notification(name) != nil
                let error = isKnown ? RPCError.invalidRequest("\(name) is a notification: send it without id.") : nil
                return deliver(Response(id: id, error: error ?? .methodNotFound(name)), slot, byteCount)
            }
            let call = Call(id: id, method: method, slot: slot, heldByteCount: byteCount)
            run(call, params, engine)
        case .notification(let name, let params):
            if let notification = MethodTable.notification(name) {
                receive(notification, params, engine)
            } else if let method = MethodTable.method(name) {
                // Performed, but never answered.
                return run(Call(id: nil, method: method, slot: slot, heldByteCount: byteCount), params, engine)
            } else {
                log.debug("ignored notification \(quoted(name))")
            }
            deliver(nil, slot, byteCount)
        case .response: deliver(nil, slot, byteCount)
        case .invalid(let id, let error): deliver(Response(id: id, error: error), slot, byteCount)
        }
    }

    private func run(_ call: Call, _ params: Parameters, _ engine: isolated DownloadEngine) {
        pendingCount += 1
        do throws(RPCError) {
            if life.isShutDown || life.isExiting { throw .shuttingDown }
            let named = try params.named()
            let checked = try checkedParameters(named, of: call.method)
            log.debug("request \(call.method.name)")
            try call.method.handle(self, checked, call, engine)
        } catch {
            refuse(call, error, engine)
        }
    }

    private func receive(
        _ notification: NotificationDescription,
        _ params: Parameters,
        _ engine: isolated DownloadEngine
    ) {
        guard case .named(let object) = params else { return }
        let checked = try? Schema.checked(
            object,
            members: notification.parameters,
            isClosed: !notification.takesUnknownParameters,
            at: "params"
        )
        guard let checked else {
            log.warn("ignored notification \(notification.name): invalid params")
            return
        }
        notification.handle?(self, checked, engine)
    }

    private func checkedParameters(
        _ object: JSONObject,
        of method: MethodDescription
    ) throws(RPCError) -> JSONObject {
        do throws(ParameterError) {
            return try Schema.checked(
                object,
                members: method.parameters,
                isClosed: !method.takesUnknownParameters,
                at: "params"
            )
        } catch {
            throw RPCError(error)
        }
    }

    /// Sends an error that was found before the engine saw the request, in the right order with other answers.
    private func refuse(_ call: Call, _ error: RPCError, _ engine: isolated DownloadEngine) {
        switch call.method.kind {
        case .read, .wait: fail(call, error)
        case .change, .lifecycle: engine.afterEarlierRequests { [self] in fail(call, error) }
        }
    }

    func fail(_ call: Call, _ error: RPCError) {
        if call.isAnswered { return }
        hasFailed = true
        log.info("request \(call.method.name) failed: \(error.data["kind"]?.string ?? "")")
        finish(call, call.id.map { Response(id: $0, error: error) })
    }

    func answer(_ call: Call, _ result: JSONObject) {
        succeed(call, .object(result))
    }

    /// Answers with a download; the answer includes all events of the session up to its `seq`.
    ///
    /// - Parameter seq: the `seq` when the download was read, if that was earlier.
    func answer(_ call: Call, showing download: DownloadSnapshot, seq: Int64? = nil, _ more: JSONObject = [:]) {
        var result: JSONObject = ["download": .object(download.encoded()), "seq": .integer(seq ?? self.seq)]
        for (name, value) in more.members { result[name] = value }
        answer(call, result)
    }

    /// For `shutdown`, whose result must be null in the Language Server Protocol.
    func answerNull(_ call: Call) {
        succeed(call, .null)
    }

    private func succeed(_ call: Call, _ result: JSONValue) {
        if call.isAnswered { return }
        finish(call, call.id.map { Response(id: $0, result: result) })
    }

    /// Runs when all earlier requests are answered.
    func inOrder(_ engine: isolated DownloadEngine, _ body: @escaping (Session) -> Void) {
        engine.afterEarlierRequests { [self] in body(self) }
    }

    /// Answers when all earlier requests are answered; for changes that the session itself makes at once.
    func answerInOrder(_ call: Call, _ engine: isolated DownloadEngine, _ result: @escaping () -> JSONObject) {
        engine.afterEarlierRequests { [self] in answer(call, result()) }
    }

    private func finish(_ call: Call, _ response: Response?) {
        call.isAnswered = true
        if !call.isParked { pendingCount -= 1 }
        deliver(response, call.slot, call.heldByteCount)
        call.heldByteCount = nil
        if leaving.isWaitingForQuiet || leaving.orderly != nil { nudge() }
    }

    /// A wait can take any time, so the end of a pipeline does not wait for it.
    func park(_ call: Call) {
        call.isParked = true
        pendingCount -= 1
    }

    /// Releases the bytes that a wait reserved, once all its downloads have been read.
    func releaseRoom(_ call: Call) {
        if let byteCount = call.heldByteCount { release(byteCount: byteCount) }
        call.heldByteCount = nil
    }

    /// For answers for which no bytes were reserved: they are deferred until the host has read enough.
    func answerWhenThereIsRoom(_ body: @escaping (Session) -> Void) {
        if deferredAnswers.isEmpty && hasRoom { return body(self) }
        deferredAnswers.append(body)
        nudge()
    }

    /// - Returns: when to try again; nil if none is deferred.
    func sendDeferredAnswers(now: Int64) -> Int64? {
        var sentCount = 0
        while sentCount < deferredAnswers.count, hasRoom {
            deferredAnswers[sentCount](self)
            sentCount += 1
        }
        deferredAnswers.removeFirst(sentCount)
        return deferredAnswers.isEmpty ? nil : now + Self.roomPollNanoseconds
    }

    /// The process ends, so deferred answers are sent now.
    func sendAllDeferredAnswers() {
        for body in deferredAnswers { body(self) }
        deferredAnswers = []
    }

    /// Sends an answer, or adds it to its batch; nil: no answer.
    private func deliver(_ response: Response?, _ slot: BatchSlot?, _ byteCount: Int?) {
        if let response, case .failure = response.outcome { hasFailed = true }
        if let slot {
            guard slot.batch.fill(slot.index, response) else { return }
            if let bytes = slot.batch.takeEncoded() { output.sendReply(bytes) }
            return release(byteCount: slot.batch.byteCount)
        }
        if let response { output.sendReply(response.encoded()) }
        if let byteCount { release(byteCount: byteCount) }
    }
}
