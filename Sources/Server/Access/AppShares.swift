import ChatterdBasics
import ChatterdRelay

/// What the apps use of this process: the requests that it is answering, and the memory that these reserve. One app has at most half as many
/// requests as there may be connections, and a `MemoryAccount`. Idle connections, and bodies that are still arriving, do not count. Safe on
/// any thread.
final class AppShares: Sendable {
    /// A counted request. It counts until its last reference is gone.
    final class Entry: Sendable {
        /// The memory of the app.
        let memory: MemoryAccount
        private let app: ExactText
        private let shares: AppShares

        fileprivate init(_ app: ExactText, _ memory: MemoryAccount, in shares: AppShares) {
            self.app = app
            self.memory = memory
            self.shares = shares
        }

        deinit { shares.end(app) }
    }

    private struct Share {
        var requests = 0
        let memory: MemoryAccount

        var isUsed: Bool { requests > 0 || memory.reservedBytes > 0 }
    }

    private struct Shares {
        var ofApps: [ExactText: Share] = [:]
        /// The number of apps at which those that use nothing are removed.
        var limit = 64

        mutating func add(_ app: ExactText, _ memory: MemoryAccount) {
            if ofApps.count >= limit {
                ofApps = ofApps.filter { $0.value.isUsed }
                limit = max(64, 2 * ofApps.count)
            }
            ofApps[app] = Share(memory: memory)
        }
    }

    private let connections: Int
    private let budget: MemoryBudget
    /// Background work may have reservations after the last request of its app, so an app keeps its entry while it has some.
    private let shares = Lock(Shares())

    /// Creates an empty list.
    ///
    /// - Parameter connections: the number of connections that the process accepts.
    init(connections: Int, memory: MemoryBudget) {
        self.connections = connections
        budget = memory
    }

    /// Counts a request.
    ///
    /// - Parameter isDeletion: an app that has its share can still stop replies and delete conversations, with half as many requests more.
    /// - Throws: `overloaded` if the app has its share.
    func begin(for app: String, isDeletion: Bool) throws(RelayError) -> Entry {
        let app = ExactText(app)
        let limit = max(1, isDeletion ? connections - connections / 4 : connections / 2)
        let memory = try shares.withLock { shares throws(RelayError) in
            let requests = shares.ofApps[app]?.requests ?? 0
            guard requests < limit else {
                throw RelayError(
                    .overloaded,
                    "The app has \(requests) requests that are being answered, which is its share of the connections. "
                        + "Try again when one is answered."
                )
            }
            let memory = shares.ofApps[app]?.memory ?? MemoryAccount(in: budget)
            if requests == 0 { shares.add(app, memory) }
            shares.ofApps[app]?.requests += 1
            return memory
        }
        return Entry(app, memory, in: self)
    }

    private func end(_ app: ExactText) {
        shares.withLock { $0.ofApps[app]?.requests -= 1 }
    }
}
