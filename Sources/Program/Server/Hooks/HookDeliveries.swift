import ChatterdBasics
import ChatterdChat
import ChatterdHooks
import ChatterdIdentity
import ChatterdJSONLog
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdSockets

/// Tells one hook of the ends of replies, of each at least once. Confined to its shard.
///
/// Every process takes deliveries that are due from the database. Those of a process that dies are due again.
final class HookDeliveries {
    /// The time between two looks for deliveries.
    private static let interval = Duration.seconds(1)
    /// The number of deliveries to a hook under way at once; and of those with a text, which takes memory.
    private static let limits = (usual: 16, withText: 4)
    /// The copies of a text on its way: that of the database, the message, and the request.
    private static let copies = 3

    private let hook: Hook
    private let store: DeliveryStore
    private let client: HookClient
    private let memory: MemoryBudget
    private let shard: Shard
    private let log: Log
    private let observe: (HookCall) -> Void
    private var timer: DeadlineTimer?
    private var round: Task<Void, Never>?
    /// The deliveries under way.
    private var running: [Task<Void, Never>] = []
    private var hasRemovedForgotten = false

    /// Creates deliveries that are not started.
    ///
    /// - Parameter observe: gets each message that was sent, on the shard.
    init(
        to hook: Hook, store: DeliveryStore, memory: MemoryBudget, on shard: Shard, log: Log,
        observe: @escaping (HookCall) -> Void
    ) {
        self.observe = observe
        self.hook = hook
        self.store = store
        self.memory = memory
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

    private var limit: Int { hook.includesText ? Self.limits.withText : Self.limits.usual }

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
        do throws(PostgresError) {
            if !hasRemovedForgotten {
                let count = try await store.removeForgotten()
                hasRemovedForgotten = true
                if count > 0 { log.event(.warning, "deliveries of hooks that are gone removed", .count(count)) }
            }
            while !Task.isCancelled {
                guard try await runRound() == limit else { return }
            }
        } catch {
            // The next round tries again.
            log.event(.warning, "deliveries to a hook wait", .hook(hook.name), .error("\(error)"))
        }
    }

    /// Makes the deliveries that are due.
    ///
    /// - Returns: their number.
    private func runRound() async throws(PostgresError) -> Int {
        let deliveries = try await store.take(limit: limit, for: hook.name)
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
        do throws(PostgresError) {
            if !hook.gets(.end, of: delivery.conversation.owner.app) {
                try await store.remove(delivery)
                return
            }
            let reply = try await store.reply(of: delivery, withText: hook.includesText)
            let held = memory.charge(Self.copies * (reply?.text.count ?? 0))
            defer { held.shrink(to: 0) }
            if await tell(await message(of: delivery, reply), delivery) { try await store.remove(delivery) }
        } catch {
            log.event(.warning, "deliveries to a hook wait", .hook(hook.name), .error("\(error)"))
        }
    }

    private func message(of delivery: StoredDelivery, _ reply: StoredDelivery.Reply?) async -> HookMessage {
        let text = hook.includesText ? reply?.text : nil
        return await LongWork.run(on: text?.count ?? 0) {
            let code = reply.flatMap { try? JSONSlice($0.lastEvent) }?.last("code", .string)?.string
            return HookMessage.end(
                of: delivery.reply, in: delivery.conversation, state: delivery.state, model: reply?.model, error: code,
                text: text, endedAt: delivery.createdAt * 1_000, id: "\(delivery.id)", at: WallClock.nanoseconds())
        }
    }

    /// Sends a message.
    ///
    /// - Returns: whether no attempt follows.
    private func tell(_ message: HookMessage, _ delivery: StoredDelivery) async -> Bool {
        let start = shard.now
        func end(_ outcome: HookCall.Outcome) {
            observe(HookCall(hook: hook.name, event: .end, time: shard.now - start, outcome: outcome))
        }
        do throws(UsageError) {
            try await client.deliver(message, to: hook)
            end(.delivered)
            return true
        } catch {
            guard !Task.isCancelled else { return false }
            end(.failed(reason: "\(error)"))
            log.event(
                delivery.isLast ? .error : .warning, "hook failed", .hook(hook.name), .count(delivery.attempts),
                .error("\(error)"))
            return delivery.isLast
        }
    }
}
