import ChatterdBasics
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets

/// The services of all shards. A reference to the services of one shard crosses threads only through this type.
struct ShardedServices: Sendable {
    /// The journal of the process.
    let journal: Journal?
    private let members: [(shard: Shard, services: Confined<ShardServices>)]

    /// Makes the services of each shard, and the journal that they share.
    init(_ process: ProcessServices, pools: [ShardPools]) {
        let services = pools.map { ShardServices(process, pools: $0) }
        journal = Journal(services: services.map(\.chat), tick: process.limits.journalTick)
        for service in services {
            service.chat.journal = journal
        }
        members = zip(pools, services).map { ($0.shard, Confined($1, to: $0.shard)) }
    }

    /// The services of the first shard.
    var home: Confined<ShardServices> { members[0].services }

    /// The services of the shard that runs a request; called there.
    subscript(_ request: Request) -> ShardServices { self[request.shard] }

    /// The services of a shard; called there.
    subscript(_ shard: Shard) -> ShardServices { members[shard.index].services.value }

    /// Runs `body` on each shard, soon.
    func onEachShard(_ body: @escaping @Sendable (ShardServices) -> Void) {
        for (shard, services) in members {
            shard.run { body(services.value) }
        }
    }
}
