import ChatterdBasics
import ChatterdRelay

/// The requests that the process is answering, counted for each app: one app has at most half as many as there may be connections. Idle
/// connections, and bodies that are still arriving, do not count. From any thread.
final class RequestShares: Sendable {
    /// A counted request. It counts until its last reference is gone.
    final class Entry: Sendable {
        private let app: ExactText
        private let shares: RequestShares

        fileprivate init(_ app: ExactText, in shares: RequestShares) {
            self.app = app
            self.shares = shares
        }

        deinit { shares.end(app) }
    }

    private let limit: Int
    private let counts = Lock<[ExactText: Int]>([:])

    /// Creates an empty list.
    ///
    /// - Parameter connections: the number of connections that the process accepts.
    init(connections: Int) {
        limit = max(1, connections / 2)
    }

    /// Counts a request.
    ///
    /// - Throws: `overloaded` if the app has its share.
    func begin(for app: String) throws(RelayError) -> Entry {
        let app = ExactText(app)
        try counts.withLock { counts throws(RelayError) in
            let count = counts[app] ?? 0
            guard count < limit else {
                throw RelayError(
                    .overloaded,
                    "The app has \(count) requests that are being answered, which is its share of the connections. Try again when one is answered."
                )
            }
            counts[app] = count + 1
        }
        return Entry(app, in: self)
    }

    private func end(_ app: ExactText) {
        counts.withLock { counts in
            let left = (counts[app] ?? 1) - 1
            counts[app] = left > 0 ? left : nil
        }
    }
}
