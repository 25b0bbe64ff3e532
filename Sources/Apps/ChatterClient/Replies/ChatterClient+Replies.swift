import ChatterdHTTP

extension ChatterClient {
    /// The events of an answer. The request is made when the first event is awaited, and repeated with its `idempotencyKey` as long as
    /// the server cannot be reached. A lost connection is resumed at the last event.
    ///
    /// The end of the iteration closes the connection, and does not stop the answer: `Prompt.onDisconnect` decides that, or `stop`.
    ///
    /// - Throws: `ChatterError`, in the iteration.
    public func answer(to prompt: Prompt) -> AsyncThrowingStream<ReplyEvent, any Error> {
        stream { () throws(ChatterError) in try run(for: prompt) }
    }

    /// The course of the answer to a prompt.
    func run(for prompt: Prompt) throws(ChatterError) -> ReplyRun {
        let path = prompt.usesTools == true ? "/llmtools" : "/llmchat"
        var request = ClientRequest(.post, path, json: try prompt.body(app: credential.app))
        guard let key = FieldValue(validating: prompt.idempotencyKey), !key.text.isEmpty else {
            throw .malformed("The idempotency key cannot be sent.")
        }
        request.fields.add(.idempotencyKey, key)
        request.fields.add(.stepEvents, "1")
        return ReplyRun(making: request, isRepeatable: true, app: credential.app, retries: retries)
    }

    /// The events of a reply that exists, from its start or after an event. The next event after `started` need not be its first.
    public func events(of reply: ReplyID, after position: String? = nil) -> AsyncThrowingStream<ReplyEvent, any Error> {
        stream { ReplyRun(reading: reply, after: position, app: credential.app, retries: retries) }
    }

    /// The events of another answer to the prompt of a reply; the conversation continues from it.
    ///
    /// This request is not repeated, since that would make two answers; once it has an id, it is resumed like any reply.
    ///
    /// - Parameters:
    ///   - reply: one of the answers to the prompt.
    ///   - model: another model; `nil` for the same.
    ///   - onInterrupt: what becomes of the answer when the server process that generates it dies; `nil` for `close`.
    public func regenerate(
        _ reply: ReplyID, model: String? = nil, onInterrupt: Prompt.InterruptPolicy? = nil
    ) -> AsyncThrowingStream<ReplyEvent, any Error> {
        stream { () throws(ChatterError) in
            let body = Regeneration(
                model: model, stream: true, queueEvents: true, onDisconnect: "finish", onInterrupt: onInterrupt)
            var request = ClientRequest(
                .post, "\(Self.path(of: reply))/regenerate", json: try JSON.encode(body))
            request.fields.add(.stepEvents, "1")
            return ReplyRun(making: request, isRepeatable: false, app: credential.app, retries: retries)
        }
    }

    /// A reply in its present state.
    public func reply(_ id: ReplyID) async throws(ChatterError) -> StoredReply {
        var request = ClientRequest(.get, Self.path(of: id))
        request.fields.add(.accept, "application/json")
        return try await result(of: request)
    }

    /// Stops a reply on any process. Its text so far is kept, and all its readers get their last event.
    ///
    /// - Returns: its state; `streaming` if it has not ended within two seconds, but will.
    @discardableResult
    public func stop(_ reply: ReplyID) async throws(ChatterError) -> ReplyState {
        let stopped: Stopped = try await result(of: ClientRequest(.delete, Self.path(of: reply)))
        return stopped.state
    }

    /// Answers a call of a tool of the server that waits for an approval. The first answer of all devices counts.
    ///
    /// - Throws: `rejected` with the code `call_not_asked` if the call does not wait, or has another answer.
    public func answer(_ call: ToolStep, of reply: ReplyID, isApproved: Bool) async throws(ChatterError) {
        let body = CallAnswer(round: call.round, index: call.index, approve: isApproved)
        let _: Empty = try await result(
            of: ClientRequest(.post, "\(Self.path(of: reply))/approvals", json: try JSON.encode(body)))
    }

    /// Continues the conversation from this reply: one of several answers to a prompt, or the end of another branch.
    public func choose(_ reply: ReplyID) async throws(ChatterError) {
        let _: Empty = try await result(of: ClientRequest(.post, "\(Self.path(of: reply))/choose"))
    }

    private static func path(of reply: ReplyID) -> String { "/replies/\(PathEncoding.segment(reply.text))" }

    private struct Regeneration: Encodable {
        let model: String?
        let stream: Bool
        let queueEvents: Bool
        let onDisconnect: String
        let onInterrupt: Prompt.InterruptPolicy?
    }

    private struct CallAnswer: Encodable {
        let round: Int
        let index: Int
        let approve: Bool
    }

    private struct Stopped: Decodable {
        let state: ReplyState
    }
}
