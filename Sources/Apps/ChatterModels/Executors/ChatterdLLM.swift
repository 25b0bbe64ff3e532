import ChatterClient

/// A model behind a chatterd server, which keeps the conversation: only new messages are sent, and lost connections are resumed.
///
/// The transcript says what the server knows: the `id` of a message of the model names its conversation and its reply, and the next
/// prompt follows that reply. So a session may be copied, restored on another device, or continued after a failure, and each copy goes
/// its own way. A transcript without such a message, of another model for example, is sent whole.
///
/// A reply that is cancelled, or whose reader leaves, is stopped on the server: the session has nothing of it.
public struct ChatterdLLM: LLM {
    public let name: String
    private let client: ChatterClient
    private let model: String?
    private let conversation: String?
    private let onDisconnect: ChatterClient.Prompt.DisconnectPolicy
    private let onInterrupt: ChatterClient.Prompt.InterruptPolicy

    /// Creates a model. Nothing is sent before the first request.
    ///
    /// - Parameters:
    ///   - client: a client of the server.
    ///   - model: the name of a model of the server; `nil` for its default.
    ///   - conversation: the conversation of new sessions, with what the server has of it; `nil` for a new one for each session.
    ///   - onDisconnect: what becomes of an answer whose connection is lost, or whose app has ended. By default it is generated for two
    ///     more minutes, in which a lost connection is resumed.
    ///   - onInterrupt: what becomes of an answer when the server process that generates it dies: it fails, or with `regenerate` begins
    ///     again, which readers see as a `reset`.
    public init(
        client: ChatterClient, model: String? = nil, conversation: String? = nil,
        onDisconnect: ChatterClient.Prompt.DisconnectPolicy = .grace(.seconds(120)),
        onInterrupt: ChatterClient.Prompt.InterruptPolicy = .close
    ) {
        self.client = client
        self.onDisconnect = onDisconnect
        self.onInterrupt = onInterrupt
        self.model = model
        self.conversation = conversation
        name = model ?? "chatterd"
    }

    public var availability: Availability {
        get async {
            do throws(ChatterError) {
                let list = try await client.models()
                guard let model else { return .available }
                return list.models.contains { $0.name == model } ? .available : .unavailable(.modelNotFound)
            } catch {
                switch error {
                case .unauthorized: return .unavailable(.apiKeyMissing)
                default: return .unavailable(.unreachable(error.message))
                }
            }
        }
    }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        let course = ChatterdCourse(
            client: client, model: model, place: ChatterdPlace(lastIn: request.transcript), conversation: conversation,
            onDisconnect: onDisconnect, onInterrupt: onInterrupt, request)
        return AsyncThrowingStream { try await course.next() }
    }

    /// Deletes the conversation of a call without a session, if it was made for it.
    public func forget(_ message: AIMessage) async {
        guard conversation == nil, let place = message.id.flatMap(ChatterdPlace.init(text:)) else { return }
        // A conversation that cannot be deleted is removed by the server's retention.
        try? await client.delete(place.conversation)
    }
}
