import ChatterdBasics
import ChatterdRelay

/// What the apps use of this process: the requests that it is answering, and the memory. One app has at most half as many requests as there
/// may be connections, and a `MemoryAccount`. An idle connection does not count. A request counts after its body has arrived; a long body
/// uses the memory of its app while it arrives. Safe on any thread.
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
        var memory: MemoryAccount

        /// Each request, and each reservation, retains the account.
        var isUsed: Bool { mutating get { !isKnownUniquelyReferenced(&memory) } }
    }

    private struct Shares {
        var ofApps: [ExactText: Share] = [:]
        /// The number of apps at which those that use nothing are removed.
        var limit = 64

        /// The memory of an app.
        mutating func memory(of app: ExactText, in budget: MemoryBudget) -> MemoryAccount {
            if let memory = ofApps[app]?.memory { return memory }
            if ofApps.count >= limit {
                for app in Array(ofApps.keys) where ofApps[app]?.isUsed == false { ofApps[app] = nil }
                limit = max(64, 2 * ofApps.count)
            }
            let memory = MemoryAccount(in: budget)
            ofApps[app] = Share(memory: memory)
            return memory
        }
    }

    private let connections: Int
    private let budget: MemoryBudget
    /// The memory of long bodies that arrive with a credential that is not verified yet: half as much as an app has, so that bodies of an
    /// app that come with and without a verified credential leave room for others.
    let strangers: MemoryAccount
    private let shares = Lock(Shares())

    /// Creates an empty list.
    ///
    /// - Parameter connections: the number of connections that the process accepts.
    init(connections: Int, memory: MemoryBudget) {
        self.connections = connections
        budget = memory
        strangers = MemoryAccount(in: memory, part: 0.5)
    }

    /// The memory of an app. It is the same as long as anything retains it.
    func memory(of app: String) -> MemoryAccount {
        let app = ExactText(app)
        return shares.withLock { $0.memory(of: app, in: budget) }
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
            let memory = shares.memory(of: app, in: budget)
            shares.ofApps[app]?.requests += 1
            return memory
        }
        return Entry(app, memory, in: self)
    }

    private func end(_ app: ExactText) {
        shares.withLock { $0.ofApps[app]?.requests -= 1 }
    }
}
