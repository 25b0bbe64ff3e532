import ChatterdBasics
import ChatterdChat
import ChatterdHooks
import ChatterdIdentity
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdSockets

/// Tells hooks of the ends of replies, each at least once. Confined to its shard.
///
/// Every process takes deliveries that are due from the database. Those of a process that dies are due again.
final class HookDeliveries {
    /// The time between two looks for deliveries.
    private static let interval = Duration.seconds(1)
    /// The number of deliveries under way at once.
    private static let limit = 16

    private let hooks: [Hook]
    private let store: DeliveryStore
    private let client: HookClient
    private let shard: Shard
    private let log: Log
    private var timer: DeadlineTimer?
    private var round: Task<Void, Never>?
    /// The deliveries under way.
    private var running: [Task<Void, Never>] = []

    /// Creates deliveries that are not started; `nil` if no hook is told of ends.
    init?(_ hooks: [Hook], store: DeliveryStore, on shard: Shard, log: Log) {
        guard hooks.contains(where: { $0.events.contains(.end) }) else { return nil }
        self.hooks = hooks
        self.store = store
        self.shard = shard
        self.log = log
        client = HookClient(on: shard)
    }

    func start() {
        timer = DeadlineTimer(on: shard) { [unowned self] in tick() }
        timer?.set(after: Self.interval)
    }

    /// Stops. Deliveries under way are due again.
    func end() async {
        timer = nil
        round?.cancel()
        running.forEach { $0.cancel() }
        await round?.value
    }

    private func tick() {
        timer?.set(after: Self.interval)
        guard round == nil else { return }
        let own = Confined(self, to: shard)
        round = Task(executorPreference: shard) {
            await own.value.makeAll()
            own.value.round = nil
        }
    }

    private func makeAll() async {
        while !Task.isCancelled {
            guard await runRound() == Self.limit else { return }
        }
    }

    /// Makes the deliveries that are due.
    ///
    /// - Returns: their number. The pool has logged a failure, and the next round tries again.
    private func runRound() async -> Int {
        guard let deliveries = try? await store.take(limit: Self.limit) else { return 0 }
        let own = Confined(self, to: shard)
        running = deliveries.map { delivery in
            Task(executorPreference: shard) { await own.value.make(delivery) }
        }
        for task in running {
            await task.value
        }
        return deliveries.count
    }

    private func make(_ delivery: StoredDelivery) async {
        let app = delivery.conversation.owner.app
        guard let hook = hooks.first(where: { $0.name == delivery.hook && $0.gets(.end, of: app) }) else {
            try? await store.remove(delivery)
            return
        }
        do {
            let reply = try await store.reply(of: delivery, withText: hook.includesText)
            let code = reply.flatMap { try? JSONSlice($0.lastEvent) }?.last("code", .string)?.string
            let message = await LongWork.run(on: reply?.text.count ?? 0) {
                HookMessage.end(
                    of: delivery.reply, in: delivery.conversation, state: delivery.state, model: reply?.model,
                    error: code, text: hook.includesText ? reply?.text : nil, id: "\(delivery.id)",
                    at: WallClock.nanoseconds())
            }
            if await tell(hook, message, delivery) { try await store.remove(delivery) }
        } catch {
            // The pool has logged it, and the delivery is due again.
        }
    }

    /// Sends a message.
    ///
    /// - Returns: whether no attempt follows.
    private func tell(_ hook: Hook, _ message: HookMessage, _ delivery: StoredDelivery) async -> Bool {
        do throws(UsageError) {
            try await client.deliver(message, to: hook)
            return true
        } catch {
            guard !Task.isCancelled else { return false }
            log.event(
                delivery.isLast ? .error : .warning, "hook failed", .hook(hook.name), .count(delivery.attempts),
                .error("\(error)"))
            return delivery.isLast
        }
    }
}
