import ChatterdBasics
import ChatterdIdentity
import ChatterdRelay

/// The open feeds of the process, counted against their limits. From any thread.
final class FeedSlots: Sendable {
    /// The limit of the process.
    static let limit = 2_000
    /// The limit of an app in the process: all its persons together leave half to the others.
    static let limitOfApp = limit / 2
    /// The limit of an owner in the process.
    static let limitOfOwner = 200

    private struct Counts {
        var all = 0
        var apps: [ExactText: Int] = [:]
        var owners: [Owner: Int] = [:]
    }

    private let counts = Lock(Counts())

    /// The number of open feeds.
    var count: Int { counts.withLock { $0.all } }

    /// Counts a feed. `release` must follow.
    ///
    /// - Throws: `overloaded`.
    func reserve(for owner: Owner) throws(RelayError) {
        try counts.withLock { counts throws(RelayError) in
            guard counts.all < Self.limit else {
                throw RelayError(.overloaded, "The server has as many open feeds as it serves. Try again in a moment.")
            }
            let own = counts.owners[owner] ?? 0
            guard own < Self.limitOfOwner else {
                throw RelayError(
                    .overloaded, "The owner has \(own) open feeds already, which is the limit. Close one of them.")
            }
            let app = ExactText(owner.app)
            let ofApp = counts.apps[app] ?? 0
            guard ofApp < Self.limitOfApp else {
                throw RelayError(
                    .overloaded,
                    "The app has \(ofApp) open feeds, which is its share of the server. Try again when one is closed.")
            }
            counts.all += 1
            counts.apps[app] = ofApp + 1
            counts.owners[owner] = own + 1
        }
    }

    /// Ends the count of a feed.
    func release(_ owner: Owner) {
        counts.withLock { counts in
            counts.all -= 1
            let left = (counts.owners[owner] ?? 1) - 1
            counts.owners[owner] = left > 0 ? left : nil
            let app = ExactText(owner.app)
            let leftOfApp = (counts.apps[app] ?? 1) - 1
            counts.apps[app] = leftOfApp > 0 ? leftOfApp : nil
        }
    }
}
