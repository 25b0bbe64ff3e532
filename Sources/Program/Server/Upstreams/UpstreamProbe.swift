import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdModelServers
import ChatterdRelay
import ChatterdSockets

/// A test of a model server: it lists its models, and one of them writes the first words of an answer. Confined to its shard.
public final class UpstreamProbe {
    /// The result of the test.
    public struct Outcome: Sendable {
        var models: [ModelDescription] = []
        /// The model that was asked.
        public var model: String?
        /// The first words of its answer.
        var reply: String?
        /// The time from the request to the first words; `nil` for an answer without text.
        public var firstWords: Duration?
        /// The problem that was found, as sentences for the administrator.
        public var problem: String?
    }

    /// Timeout of the answer. The server may have to load the model.
    private static let timeout = Duration.seconds(60)

    /// The first words of the answer, spoken or thought.
    private var text = ByteBuffer()
    private var firstWordsAt: Instant?
    private let shard: Shard
    /// Whether the test waits for the end of the answer, and does not cancel it.
    private let waitsForEnd: Bool
    private var generation: (any Generation)?
    private var continuation: CheckedContinuation<ModelError?, Never>?

    private init(on shard: Shard, waitsForEnd: Bool) {
        self.shard = shard
        self.waitsForEnd = waitsForEnd
    }

    /// Tests a model server. Call it on the shard.
    ///
    /// - Parameters:
    ///   - model: the model to ask; `nil` for the first one that the description or else the server lists.
    ///   - toTheEnd: whether the answer, which is short, must have an end.
    public static func run(
        _ upstream: Upstream, model: String?, toTheEnd: Bool = false, on shard: Shard
    ) async -> Outcome {
        var outcome = Outcome()
        switch await ModelListCache.listing(of: upstream).models {
        case .success(let models): outcome.models = models
        case .failure(let error):
            outcome.problem = "It does not list its models. \(words(error))\(await hint(for: error, at: upstream))"
            return outcome
        }
        guard let name = model ?? upstream.description.models.first ?? outcome.models.first?.name else {
            outcome.problem = "It has no models."
            return outcome
        }
        outcome.model = name
        let probe = UpstreamProbe(on: shard, waitsForEnd: toTheEnd)
        let began = Shard.readClock()
        let error = await probe.ask(upstream, upstream.description.aliases[name] ?? name)
        outcome.reply = String(decoding: probe.text.array, as: UTF8.self)
        outcome.firstWords = probe.firstWordsAt.map { $0 - began }
        if let error {
            outcome.problem =
                "The model \(name) does not answer. \(words(error))\(await hint(for: error, at: upstream))"
        }
        return outcome
    }

    /// A hint that corrects the description; empty if the description may be right or no correction is found.
    private static func hint(for error: ModelError, at upstream: Upstream) async -> String {
        guard error.mayBeMisdescribed, let model = upstream.model as? UpstreamModel,
            await model.acceptsChats() == false, let correction = await model.correction()
        else { return "" }
        return " Its description is wrong: \(correction)."
    }

    private static func words(_ error: ModelError) -> String {
        error.detail.isEmpty ? error.message : "\(error.message) (\(error.detail))"
    }

    private func ask(_ upstream: Upstream, _ model: String) async -> ModelError? {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: "Hello"))
        let request = GenerationRequest(
            model: model, messages: messages,
            passThrough: upstream.description.merged(into: [
                // Models that think refuse a limit of one token. The probe needs only the first token.
                RawMember(key: "options", value: Array("{\"num_predict\":16}".utf8))
            ]))
        let probe = Confined(self, to: shard)
        do throws(TimeoutError) {
            return try await shard.withTimeout(Self.timeout) { await probe.value.answer(to: request, from: upstream) }
        } catch {
            generation?.cancel()
            finish(nil)
            return ModelError(.firstByteTimeout, "It took longer than \(Self.timeout).")
        }
    }

    /// Returns after the first words, or with the error.
    private func answer(to request: GenerationRequest, from upstream: Upstream) async -> ModelError? {
        await withCheckedContinuation { continuation in
            self.continuation = continuation
            generation = upstream.model.generate(request, to: self)
        }
    }

    private func finish(_ error: ModelError?) {
        generation = nil
        continuation.take()?.resume(returning: error)
    }
}

extension UpstreamProbe: GenerationConsumer {
    public func generation(_ generation: any Generation, lines: LineRun) {
        for index in 0..<lines.count {
            let fields = lines.fields(at: index)
            for part in [fields.content, fields.thinking] {
                guard let part, text.isEmpty else { continue }
                text.append(decodingJSON: lines.line(at: index).extracting(part.range))
            }
        }
        guard !text.isEmpty else { return }
        firstWordsAt = firstWordsAt ?? Shard.readClock()
        guard !waitsForEnd else { return }
        generation.cancel()
        finish(nil)
    }

    public func generationEnded(_ generation: any Generation, error: ModelError?) {
        finish(error)
    }
}
