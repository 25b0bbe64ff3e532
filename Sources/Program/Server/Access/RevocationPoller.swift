import ChatterdBasics
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// Reads the revocations of all processes each second, and applies them on all shards. Confined to its shard.
final class RevocationPoller {
    /// The time between two reads: a revocation ends streams within two seconds.
    static let interval = Duration.seconds(1)

    private let registry: AccessRegistry
    private let shard: Shard
    private let apply: @Sendable ([RevocationRecord]) -> Void
    private var timer: DeadlineTimer?
    private var read: Task<Void, Never>?

    /// Makes a poller that is not started.
    ///
    /// - Parameter apply: ends streams and drops cached principals on all shards; returns at once.
    init(_ registry: AccessRegistry, on shard: Shard, apply: @escaping @Sendable ([RevocationRecord]) -> Void) {
        self.registry = registry
        self.shard = shard
        self.apply = apply
    }

    /// Reads all revocations, then the new ones each second.
    func start() async {
        await refresh()
        timer = DeadlineTimer(on: shard) { [unowned self] in tick() }
        timer?.set(after: Self.interval)
    }

    /// Stops reading.
    func end() async {
        timer = nil
        await read?.value
    }

    private func tick() {
        if read == nil {
            let poller = Confined(self, to: shard)
            read = Task(executorPreference: shard) {
                await poller.value.refresh()
                poller.value.read = nil
            }
        }
        timer?.set(after: Self.interval)
    }

    private func refresh() async {
        while true {
            let page = await registry.refresh()
            if !page.isEmpty { apply(page) }
            guard page.count == AppKeyStore.revocationPage else { return }
        }
    }
}
