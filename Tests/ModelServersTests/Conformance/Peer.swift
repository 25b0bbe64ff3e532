import ChatterdBasics
import ChatterdChat
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// A simulated model server, and its adapter over real sockets.
struct Peer {
    let upstream: ScriptedUpstream
    private let model: Confined<UpstreamModel>

    /// Starts a server that runs these steps for every request.
    init(
        _ kind: UpstreamDescription.Kind, _ steps: [UpstreamStep], limits: GenerationLimits = .longTimeouts
    )
        throws
    {
        upstream = try ScriptedUpstream(steps)
        let shard = ModelHarness.onShard { $0 }
        var longTimeouts = HTTPClientLimits()
        longTimeouts.connect = .seconds(600)
        let client = HTTPClient(shard: shard, limits: longTimeouts)
        var description = UpstreamDescription(name: "peer", kind: kind, url: upstream.url)
        description.limits = limits
        model = Confined(
            UpstreamModel(
                description, origin: try description.origin(), key: nil, client: client, shard: shard, now: { 0 }),
            to: shard)
    }

    /// Runs an answer to its end.
    func ask(_ request: GenerationRequest = .greeting) throws -> Answer {
        try start(request) { _ in }.outcome()
    }

    /// Starts an answer, and acts in the same turn of the event loop.
    func start(_ request: GenerationRequest, _ act: @escaping @Sendable (any Generation) -> Void) -> RecordingConsumer {
        let consumer = RecordingConsumer()
        ModelHarness.onShard { [model] _ in
            let generation = model.value.generate(request, to: consumer)
            consumer.generation = generation
            act(generation)
        }
        return consumer
    }

    /// Runs an answer to its end, and joins its lines.
    func received() throws -> ReceivedAnswer {
        try ReceivedAnswer(ask())
    }
}

extension GenerationRequest {
    /// A conversation of one message whose translation leaves the event loop.
    static var long: GenerationRequest {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: String(repeating: "long ", count: LongWork.size / 4)))
        return GenerationRequest(model: "tiny", messages: messages)
    }

    /// A conversation of one message.
    static var greeting: GenerationRequest {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: "Hi"))
        return GenerationRequest(model: "tiny", messages: messages)
    }
}
