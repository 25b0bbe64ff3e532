import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// A trial of a model server: its models, and the first words of one of them. Confined to its shard.
final class UpstreamTrial: @unchecked Sendable {
    /// What came of it.
    struct Outcome: Sendable {
        var models: [ModelDescription] = []
        /// The model that was asked, and what it said.
        var model: String?
        var reply: String?
        /// What is wrong, in words.
        var problem: String?
    }

    /// How long an answer is waited for: the model may have to be loaded.
    private static let timeout = Duration.seconds(60)

    /// What the model said first, aloud or in thought.
    private var text = ByteBuffer()
    private var generation: (any Generation)?
    private var ended: CheckedContinuation<ModelError?, Never>?

    /// Tries a model server.
    ///
    /// - Parameter model: the model to ask; nothing for the first one that it is asked for, or has.
    static func run(_ upstream: Upstream, model: String?, on shard: Shard) async -> Outcome {
        var outcome = Outcome()
        let listing = await ModelSurvey.ask(upstream)
        switch listing.models {
        case .success(let models): outcome.models = models
        case .failure(let error):
            outcome.problem = "It does not list its models. \(words(error))\(await hint(for: error, at: upstream))"
            return outcome
        }
        let name = model ?? upstream.description.models.first ?? outcome.models.first?.name
        guard let name else {
            outcome.problem = "It has no models."
            return outcome
        }
        outcome.model = name
        let trial = UpstreamTrial()
        let error = await trial.ask(upstream, upstream.description.aliases[name] ?? name, on: shard)
        outcome.reply = String(decoding: trial.text.array, as: UTF8.self)
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

    private func ask(_ upstream: Upstream, _ model: String, on shard: Shard) async -> ModelError? {
        var messages = EncodedMessages()
        messages.append(ModelMessage(role: "user", content: "Hello"))
        let request = GenerationRequest(
            model: model, messages: messages,
            passThrough: upstream.description.merged(into: [
                // Models that think refuse to stop at one; the first one is enough here.
                RawMember(key: "options", value: Array("{\"num_predict\":16}".utf8))
            ]))
        let timer = DeadlineTimer(on: shard) { [self] in
            generation?.cancel()
            end(ModelError(.firstByteTimeout, "It took longer than \(Self.timeout)."))
        }
        timer.set(after: Self.timeout)
        let error = await withCheckedContinuation { ended in
            self.ended = ended
            generation = upstream.model.generate(request, to: self)
        }
        timer.cancel()
        return error
    }

    private func end(_ error: ModelError?) {
        generation = nil
        ended.take()?.resume(returning: error)
    }
}

extension UpstreamTrial: GenerationConsumer {
    func generation(_ generation: any Generation, line: Span<UInt8>, fields: AnswerLine) {
        for part in [fields.content, fields.thinking] {
            guard let part, text.isEmpty else { continue }
            text.append(decodingJSON: line.extracting(part.range))
        }
        guard !text.isEmpty else { return }
        generation.cancel()
        end(nil)
    }

    func generationEnded(_ generation: any Generation, error: ModelError?) {
        end(error)
    }
}
