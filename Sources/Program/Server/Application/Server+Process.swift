import ChatterdBasics
import ChatterdConfiguration
import ChatterdDialects
import ChatterdHTTPServer
import ChatterdMetrics
import ChatterdSockets

extension Server {
    /// The HTTP server of the process: limits, accepted hosts and origins, and hints in refusals as the configuration gives them.
    ///
    /// - Parameter pools: those of each shard, with its counts.
    convenience init(_ process: ProcessServices, pools: [ShardPools], router: Router, _ access: AccessControl) {
        let configuration = process.configuration
        let hints = RefusalHints(configuration.http)
        var hooks = ServerHooks()
        hooks.onExchangeEnd = { [log = process.log, tracer = process.tracer, pools] exchange in
            let pools = pools[exchange.shard]
            log.record(exchange)
            pools.counts.value.count(exchange)
            tracer?.end(exchange, at: pools.shard.now)
        }
        hooks.errorForm = { head in Door(head)?.rawValue ?? 0 }
        hooks.bodyAccount = access.bodyAccount
        hooks.errorAnswer = { refusal, form in
            let refusal = hints.explained(refusal)
            return Door(rawValue: form)?.answer(to: refusal) ?? (refusal.status, .error(refusal))
        }
        var policy = configuration.server.browsers
        policy.openRoutes = Route.openRoutes
        policy.pageRoutes = Route.pageRoutes
        policy.requestFields = Route.requestFields
        self.init(
            shards: pools.map(\.shard), limits: configuration.http, router: router, policy: policy, hooks: hooks,
            memory: process.memory)
    }
}
