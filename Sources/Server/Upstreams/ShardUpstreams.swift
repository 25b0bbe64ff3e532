import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The model servers as a shard has them. Confined to its shard.
final class ShardUpstreams: @unchecked Sendable {
    /// Which of them are asked for which model.
    let directory = UpstreamDirectory()
    /// What they say of their models.
    let survey: ModelSurvey
    private let factory: UpstreamFactory
    private var made: [Made] = []
    private var unusable: [UnusableUpstream] = []
    private var generators: [ObjectIdentifier: Generator] = [:]

    private struct Made {
        let prepared: PreparedUpstream
        let upstream: Upstream
        let generator: Generator?
    }

    /// Makes one that has none.
    init(_ factory: UpstreamFactory, estimates: TokenEstimates) {
        self.factory = factory
        survey = ModelSurvey(on: factory.shard, estimates: estimates)
    }

    /// Replaces the list of model servers. Unchanged servers keep their connections, and running answers continue.
    ///
    /// - Parameter unusable: the servers of the list that this process cannot ask.
    func take(_ list: [PreparedUpstream], unusable: [UnusableUpstream] = []) {
        let old = made.map { ObjectIdentifier($0.upstream) }
        made = list.map { prepared in
            if let same = made.first(where: { $0.prepared.isSame(as: prepared) }) {
                return same
            }
            let (upstream, generator) = factory.make(prepared)
            return Made(prepared: prepared, upstream: upstream, generator: generator)
        }
        // While the registry has one that it cannot use it looks every two seconds, which is as long as a survey may take:
        // what was said must not be void each time.
        let isSame = made.map { ObjectIdentifier($0.upstream) } == old
        guard !isSame || self.unusable != unusable else { return }
        self.unusable = unusable
        directory.update(made.map(\.upstream), unusable: unusable)
        guard !isSame else { return }
        survey.forget()
        generators = [:]
        for made in made {
            generators[ObjectIdentifier(made.upstream)] = made.generator
        }
    }

    /// The server for an `/llmprompt`: the first one that accepts it and is not cooling down. If all of them are cooling down, the
    /// first one that accepts it.
    ///
    /// - Throws: `modelNotFound`, `unavailable`.
    func generator(for model: String) throws(RelayError) -> (choice: UpstreamChoice, generator: Generator) {
        let choices = directory.choices(for: model)
        guard !choices.isEmpty else { throw RelayError(directory.refusal(of: model)) }
        let takers = choices.compactMap { choice in
            generators[ObjectIdentifier(choice.upstream)].map { (choice: choice, generator: $0) }
        }
        let now = factory.shard.now
        let willing = takers.first { $0.choice.upstream.health.state(at: now) != .coolingDown }
        guard let first = willing ?? takers.first else {
            throw RelayError(
                .model(.modelNotFound),
                "The model server of this model is not of the kind ollama, and takes no /llmprompt: use /llmchat.")
        }
        return first
    }
}
