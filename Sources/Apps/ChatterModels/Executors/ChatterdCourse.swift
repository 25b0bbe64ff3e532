import ChatterClient

/// One message that is generated behind a chatterd server.
actor ChatterdCourse {
    private let client: ChatterClient
    private let conversation: String
    private let stream: AsyncThrowingStream<ReplyEvent, any Error>
    private var events: ArraySlice<GenerationEvent> = []
    private var calls = 0
    private let callPrefix: String
    /// The reply while it is generated.
    private var running: ReplyID?
    /// The text so far, which a refusal is shown with.
    private var text = ""

    init(
        client: ChatterClient, model: String?, place: ChatterdPlace?, conversation: String?,
        onDisconnect: ChatterClient.Prompt.DisconnectPolicy, onInterrupt: ChatterClient.Prompt.InterruptPolicy,
        _ request: GenerationRequest
    ) {
        self.client = client
        self.conversation = place?.conversation ?? conversation ?? Conversation.randomName()
        callPrefix = "call_\(request.transcript.count)_"
        var prompt = Self.prompt(request, model: model, after: place, in: self.conversation)
        prompt.onDisconnect = onDisconnect
        prompt.onInterrupt = onInterrupt
        // Options of the request are stronger.
        for name in prompt.rawMembers.keys {
            if name == "on_disconnect" { prompt.onDisconnect = nil }
            if name == "on_interrupt" { prompt.onInterrupt = nil }
        }
        stream = client.answer(to: prompt)
    }

    deinit {
        // The reader has left before the end, so the server need not generate the rest.
        guard let running else { return }
        Task { [client] in try? await client.stop(running) }
    }

    func next() async throws(LLMError) -> GenerationEvent? {
        while true {
            if let event = events.popFirst() { return event }
            do {
                guard let event = try await stream.nextElement() else { return nil }
                events += try translated(event)
            } catch let error as ChatterError {
                if error != .cancelled { running = nil }
                throw LLMError(error)
            } catch let error as LLMError {
                throw error
            } catch {
                throw .cancelled
            }
        }
    }

    private func translated(_ event: ReplyEvent) throws(LLMError) -> [GenerationEvent] {
        switch event {
        case .started(let reply):
            running = reply
            return [.identified(ChatterdPlace(conversation: conversation, reply: reply).text)]
        case .text(let piece):
            text += piece
            return [.text(piece)]
        case .thinking(let text): return [.reasoning(text)]
        case .toolCalls(let list):
            return list.map { call in
                calls += 1
                return .toolCall(
                    ToolCall(
                        id: call.id ?? "\(callPrefix)\(calls)", toolName: call.function.name,
                        arguments: Self.arguments(call.function.arguments)))
            }
        case .reset:
            (calls, text) = (0, "")
            return [.reset]
        case .step: return []
        case .queued(let place): return [.waiting(.queued(position: place.position, length: place.length))]
        case .connectionLost(let error, let delay):
            return [.waiting(.connectionLost(error.message, retryAfter: delay))]
        case .resumed: return [.waiting(.resumed)]
        case .finished(let end):
            running = nil
            if end.isRefusal { throw .refused(text) }
            let reason =
                end.wasStopped ? .stopped : GenerationEnd.Reason(word: end.reason, callsTools: calls > 0)
            let usage = end.answerTokens.map { Usage(promptTokens: end.promptTokens ?? 0, answerTokens: $0) }
            return [.finished(GenerationEnd(reason: reason, model: end.model, usage: usage))]
        }
    }

    /// The arguments as the server passed them on: an object, or its text.
    private static func arguments(_ value: JSONValue?) -> StructuredContent {
        switch value {
        case nil: .object([])
        case .string(let text)?: .arguments(text)
        case let value?: .arguments(value.text)
        }
    }

    private static func prompt(
        _ request: GenerationRequest, model: String?, after place: ChatterdPlace?, in conversation: String
    ) -> ChatterClient.Prompt {
        let new = request.transcript.dropFirst(place?.known ?? 0).map(promptMessage)
        var members: [String: String] = [:]
        func set(_ name: String, _ value: StructuredContent?) {
            if let value { members[name] = value.json }
        }
        // In the plain form, many servers generate members that may be missing after all others.
        set("format", request.schema?.jsonSchema(.strict))
        set("tools", request.tools.isEmpty ? nil : .array(request.tools.map(\.wireFunction)))
        var options: [StructuredContent.Member] = []
        options.add("temperature", request.options.wireTemperature)
        options.add("top_p", request.options.wireTopP)
        options.add("top_k", request.options.wireTopK)
        options.add("seed", request.options.wireSeed)
        options.add("num_predict", request.options.maximumTokens.map { .integer($0) })
        set("options", options.isEmpty ? nil : .object(options))
        for option in request.options.backendOptions {
            set(option.name, option.value)
        }
        var prompt = ChatterClient.Prompt(
            messages: Array(new), in: conversation, model: model, parent: place.map { .reply($0.reply) })
        prompt.rawMembers = members
        return prompt
    }

    private static func promptMessage(_ message: Message) -> PromptMessage {
        let images = message.chunks.images.map(\.base64)
        var prompt = PromptMessage(message.text, images: images.isEmpty ? nil : images)
        switch message {
        case .system: prompt.role = "system"
        case .user: prompt.role = "user"
        case .ai(let message):
            prompt.role = "assistant"
            let calls = message.toolCalls.map {
                ChatterClient.ToolCall(
                    id: $0.id, name: $0.toolName, arguments: JSONValue(parsing: $0.arguments.wireBytes))
            }
            prompt.toolCalls = calls.isEmpty ? nil : calls
        case .toolOutput(let output):
            prompt.role = "tool"
            prompt.toolName = output.toolName
            prompt.toolCallId = output.id
        }
        return prompt
    }
}
