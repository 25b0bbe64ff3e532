import ChatterdBasics
import ChatterdChat
import ChatterdModelServers
import ChatterdRelay
import ChatterdSockets

/// The model servers of a shard. Confined to its shard.
final class ShardUpstreams {
    /// The model servers by the names of models.
    let directory = UpstreamDirectory()
    /// The models that the servers list.
    let modelLists: ModelListCache
    private let factory: UpstreamFactory
    private var members: [(resolved: ResolvedUpstream, upstream: Upstream)] = []
    private var unusable: [UnusableUpstream] = []

    /// Makes an empty list.
    init(_ factory: UpstreamFactory, estimates: TokenEstimates) {
        self.factory = factory
        let lists = ModelListCache(on: factory.shard, estimates: estimates)
        modelLists = lists
        directory.askForModels = { [unowned directory] in await lists.ask(directory) }
        directory.refreshModels = { [unowned directory] in lists.refreshIfOld(directory) }
    }

    /// Replaces the list of model servers. Unchanged servers keep their connections, and running answers continue.
    ///
    /// - Parameter unusable: the servers of the list that this process cannot ask.
    func replace(_ list: [ResolvedUpstream], unusable: [UnusableUpstream] = []) {
        let old = members.map { ObjectIdentifier($0.upstream) }
        members = list.map { resolved in
            members.first { $0.resolved.isSame(as: resolved) } ?? (resolved, factory.make(resolved))
        }
        // The registry calls this every two seconds while it has an unusable server. A request for model lists may take as long,
        // and an unchanged list must not make it void.
        let isSame = members.map { ObjectIdentifier($0.upstream) } == old
        guard !isSame || self.unusable != unusable else { return }
        self.unusable = unusable
        directory.update(members.map(\.upstream), unusable: unusable)
        if !isSame {
            modelLists.invalidate()
        }
    }

    /// The server for a request that is passed on: the first server of these kinds that has the model and is not cooling down. If all of
    /// them are cooling down, the first one.
    ///
    /// - Throws: `modelNotFound`, `unavailable`; `refusal` if all servers of the model are of other kinds.
    func server(
        for name: String, of kinds: Set<UpstreamDescription.Kind>, otherwise refusal: RelayError
    ) async throws(RelayError) -> (target: ModelTarget, model: UpstreamModel) {
        await directory.prepare(for: name)
        if let refusal = directory.refusalOfRequest(for: name) { throw RelayError(refusal) }
        let targets = directory.targets(for: name)
        let servers = targets.compactMap { target -> (target: ModelTarget, model: UpstreamModel)? in
            guard kinds.contains(target.upstream.description.kind) else { return nil }
            return (target.upstream.model as? UpstreamModel).map { (target, $0) }
        }
        let now = factory.shard.now
        let ready = servers.first { $0.target.upstream.health.state(at: now) != .coolingDown }
        guard let server = ready ?? servers.first else { throw refusal }
        return server
    }
}
