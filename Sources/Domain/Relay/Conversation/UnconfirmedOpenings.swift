import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// The turns of the process whose opening the store has not confirmed. Their clients got an error, but the turns may be open, or
/// may still be opened.
public final class UnconfirmedOpenings: Sendable {
    /// A turn that may be open.
    struct Opening {
        /// The id of its reply.
        let id: ReplyID
        let conversation: ConversationKey
        /// Whether the request has an idempotency key, so that the client can retry it.
        let hasKey: Bool
        let onDisconnect: DisconnectPolicy
        /// The number of further attempts to find the turn. A statement that timed out may be executed when the store is back.
        var looksLeft = 10
    }

    /// The maximum number of entries. The oldest ones are dropped; the store's housekeeping closes their turns as interrupted.
    private static let limit = 1_000

    private let openings = Lock<[Opening]>([])

    /// Creates an empty list.
    public init() {}

    /// Records an opening.
    func note(_ opening: Opening) {
        openings.withLock { openings in
            if openings.count == Self.limit {
                openings.removeFirst()
            }
            openings.append(opening)
        }
    }

    /// Records an opening again that a round did not find, for a limited number of rounds.
    func noteNotFound(_ opening: Opening) {
        var opening = opening
        opening.looksLeft -= 1
        if opening.looksLeft > 0 {
            note(opening)
        }
    }

    /// Removes and returns the matching openings.
    func removeAll(where isWanted: (Opening) -> Bool = { _ in true }) -> [Opening] {
        openings.withLock { openings in
            guard !openings.isEmpty else { return [] }
            let wanted = openings.filter(isWanted)
            openings.removeAll(where: isWanted)
            return wanted
        }
    }

    /// Whether the list has a reply.
    public func contains(_ id: ReplyID) -> Bool {
        openings.withLock { $0.contains { $0.id == id } }
    }
}
