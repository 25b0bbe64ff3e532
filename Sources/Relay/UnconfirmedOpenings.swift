import Bytes
import LanguageModels

/// Turns whose opening the store has not confirmed: their clients were told that it failed, but it may have been done, or may yet
/// be. One for the process.
public final class UnconfirmedOpenings: Sendable {
    /// A turn that may be open.
    struct Opening {
        /// The name of its reply.
        let id: ReplyID
        let appID: String
        /// Whether the client has a name for its request, and will send it again under that name.
        let hasKey: Bool
        let onDisconnect: DisconnectPolicy
        /// How often it is still looked for: a statement that was given up may be done when the store is back.
        var looksLeft = 10
    }

    /// What is noted at most. Of more, the oldest are forgotten: the store's housekeeping closes them as interrupted.
    private static let limit = 1_000

    private let openings = Lock<[Opening]>([])

    /// Makes an empty list.
    public init() {}

    /// Notes an opening.
    func note(_ opening: Opening) {
        openings.withLock { openings in
            if openings.count == Self.limit {
                openings.removeFirst()
            }
            openings.append(opening)
        }
    }

    /// Takes an opening back that was looked for in a round, and not found; not for ever.
    func takeBack(_ opening: Opening) {
        var opening = opening
        opening.looksLeft -= 1
        if opening.looksLeft > 0 {
            note(opening)
        }
    }

    /// Gives the openings of a kind out, for one to find out about them.
    func take(where isWanted: (Opening) -> Bool = { _ in true }) -> [Opening] {
        openings.withLock { openings in
            guard !openings.isEmpty else { return [] }
            let wanted = openings.filter(isWanted)
            openings.removeAll(where: isWanted)
            return wanted
        }
    }

    /// Whether a reply is among them.
    public func contains(_ id: ReplyID) -> Bool {
        openings.withLock { $0.contains { $0.id == id } }
    }
}
