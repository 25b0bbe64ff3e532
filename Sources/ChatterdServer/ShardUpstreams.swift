import LanguageModels
import Relay

/// The model servers as a shard has them. Confined to its shard.
final class ShardUpstreams: @unchecked Sendable {
    /// Which of them are asked for which model.
    let directory = UpstreamDirectory()
    /// What they say of their models.
    let survey: ModelSurvey
    /// Where `/llmprompt` goes, if any of them can take it.
    private(set) var generator: Generator?

    private let factory: UpstreamFactory
    private var made: [Made] = []
    private var unusable: [UnusableUpstream] = []

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

    /// Takes other model servers; those that are the same keep their connections, and answers continue as they began.
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
        let first = directory.upstreams.first { upstream in
            made.contains { $0.upstream === upstream && $0.generator != nil }
        }
        generator = made.first { $0.upstream === first }?.generator
    }
}
