import ChatterdBasics
import ChatterdChat
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdSockets
import ChatterdTestSupport

extension GenerationLimits {
    /// Timeouts for a busy machine; a test shortens the one that it tests.
    static var longTimeouts: GenerationLimits {
        var limits = GenerationLimits()
        limits.firstByte = .seconds(600)
        limits.silence = .seconds(600)
        limits.rest = .seconds(600)
        return limits
    }
}

/// A model of a simulated server on a shard that all tests share, called from test threads.
final class ModelHarness: Sendable {
    fileprivate static let shard: Shard = {
        do {
            return try Shard(index: 0)
        } catch {
            preconditionFailure("no shard: \(error)")
        }
    }()

    private let model: Confined<any LanguageModel>
    private let client: Confined<HTTPClient>

    init(
        _ url: String, _ kind: UpstreamDescription.Kind = .ollama, limits: GenerationLimits = .longTimeouts,
        client limitsOfClient: HTTPClientLimits? = nil, key: String? = nil
    ) throws {
        var longTimeouts = HTTPClientLimits()
        longTimeouts.connect = .seconds(600)
        longTimeouts.idleTime = .seconds(600)
        client = Confined(HTTPClient(shard: Self.shard, limits: limitsOfClient ?? longTimeouts), to: Self.shard)
        model = try Self.model(at: url, kind, limits, key: key, client)
    }

    /// A model with an open connection, so that it sends its request before any timeout, even a very short one.
    ///
    /// The upstream's first script must be `ended`: it is request 0.
    init(connectedTo upstream: ScriptedUpstream, limits: GenerationLimits) throws {
        let first = try ModelHarness(upstream.url)
        guard try first.ask().isComplete else { throw TestFailure("the first answer is not complete") }
        client = first.client
        model = try Self.model(at: upstream.url, .ollama, limits, key: nil, client)
    }

    private static func model(
        at url: String, _ kind: UpstreamDescription.Kind, _ limits: GenerationLimits, key: String?,
        _ client: Confined<HTTPClient>
    ) throws -> Confined<any LanguageModel> {
        var description = UpstreamDescription(name: "test", kind: kind, url: url)
        description.limits = limits
        let origin = try description.origin()
        return onShard { [description] shard in
            let model = UpstreamModel(
                description, origin: origin, key: key, client: client.value, shard: shard, now: { 0 })
            return Confined(model, to: shard)
        }
    }

    /// Runs a block on the shard and waits for it.
    @discardableResult
    static func onShard<Result: Sendable>(_ body: @escaping @Sendable (Shard) -> Result) -> Result {
        let box = Monitor<Result?>(nil)
        shard.run {
            let result = body(shard)
            box.withLock { $0 = result }
        }
        guard let result = box.wait(upTo: 600, until: { $0 }) else { preconditionFailure("the shard hangs") }
        return result
    }

    /// Starts an answer.
    func start(
        _ consumer: RecordingConsumer = RecordingConsumer(), members: [RawMember] = [.thinking]
    ) -> RecordingConsumer {
        Self.start(model, consumer, members: members)
    }

    /// Runs an answer to its end.
    func ask() throws -> Answer {
        try start().outcome()
    }

    /// Starts an answer of any model.
    static func start(
        _ model: Confined<any LanguageModel>, _ consumer: RecordingConsumer = RecordingConsumer(),
        messages: [ModelMessage] = [ModelMessage(role: "user", content: "Hi")], members: [RawMember] = [.thinking],
        model name: String = "tiny"
    ) -> RecordingConsumer {
        onShard { _ in
            var encoded = EncodedConversation()
            for message in messages {
                encoded.append(message)
            }
            consumer.generation = model.value.generate(
                GenerationRequest(model: name, messages: encoded, passThrough: members), to: consumer)
        }
        return consumer
    }
}

extension [UpstreamStep] {
    /// An answer whose last line is the end of its body, so that its connection is idle afterwards.
    static var ended: [UpstreamStep] {
        .plain(200, ModelLine.token("x") + ModelLine.done(), type: "application/x-ndjson")
    }
}

extension RawMember {
    /// A member that the requests of these tests pass on.
    static let thinking = RawMember(key: "think", value: Array("true".utf8))
}

/// The result of an answer.
struct Answer: Sendable {
    var lines: [String] = []
    var text: [UInt8] = []
    var dones: [Bool] = []
    var ends: [ModelError?] = []

    /// The code of the error that ended it, once.
    var code: ModelError.Code? { ends.count == 1 ? ends[0]?.code : nil }
    /// Whether it ended once, without an error, after its last line.
    var isComplete: Bool { ends.count == 1 && ends[0] == nil && dones.last == true }
    var content: String { String(decoding: text, as: UTF8.self) }
}

/// Records the events of a generation.
final class RecordingConsumer: GenerationConsumer, @unchecked Sendable {
    let state = Monitor(Answer())
    /// Used on the shard only.
    var generation: (any Generation)?
    /// Called on the shard with each line.
    private let onLine: (@Sendable (any Generation, Int) -> Void)?
    /// Called on the shard with the end.
    private let onEnd: (@Sendable (any Generation) -> Void)?

    /// The number of lines after which the consumer cancels.
    private let cancelsAfter: Int?

    init(
        cancelsAfter: Int? = nil, onLine: (@Sendable (any Generation, Int) -> Void)? = nil,
        onEnd: (@Sendable (any Generation) -> Void)? = nil
    ) {
        self.cancelsAfter = cancelsAfter
        self.onLine = onLine
        self.onEnd = onEnd
    }

    func generation(_ generation: any Generation, lines: LineRun) {
        for index in 0..<lines.count {
            let count = record(lines.line(at: index), lines.fields(at: index))
            onLine?(generation, count)
            guard count != cancelsAfter else {
                generation.cancel()
                return
            }
        }
    }

    private func record(_ line: Span<UInt8>, _ fields: AnswerLine) -> Int {
        let bytes = line.array
        var text = ByteBuffer()
        if let content = fields.content {
            text.append(decodingJSON: line.extracting(content.range))
        }
        let decoded = text.array
        return state.withLock { state in
            state.lines.append(String(decoding: bytes, as: UTF8.self))
            state.text += decoded
            state.dones.append(fields.isDone)
            return state.lines.count
        }
    }

    func generationEnded(_ generation: any Generation, error: ModelError?) {
        onEnd?(generation)
        state.withLock { $0.ends.append(error) }
        self.generation = nil
    }

    /// Waits for the end and for the present work of the shard, so that a second end would be recorded.
    func outcome() throws -> Answer {
        try wait("the answer ended") { !$0.ends.isEmpty }
        ModelHarness.onShard { _ in }
        return state.withLock { $0 }
    }

    /// Waits until the answer so far fulfils a condition.
    func wait(_ what: String, until condition: (Answer) -> Bool) throws {
        guard state.wait(until: { condition($0) ? true : nil }) != nil else {
            throw TestFailure("timeout: \(what); got \(state.withLock { $0 })")
        }
    }

    /// Calls the generation on its shard.
    func command(_ body: @escaping @Sendable (any Generation) -> Void) {
        ModelHarness.onShard { _ in
            if let generation = self.generation {
                body(generation)
            }
        }
    }
}

extension ModelHarness {
    /// Calls a handler on the shard after a time by the shard's clock.
    static func timer(
        after duration: Duration, _ handler: @escaping @Sendable () -> Void
    ) -> Confined<DeadlineTimer> {
        onShard { shard in
            let timer = DeadlineTimer(on: shard, handler: handler)
            timer.set(after: duration)
            return Confined(timer, to: shard)
        }
    }

    /// Releases a timer on its shard.
    static func drop(_ timer: consuming Confined<DeadlineTimer>) {
        let box = Monitor<Confined<DeadlineTimer>?>(timer)
        shard.run { box.withLock { $0 = nil } }
    }
}
