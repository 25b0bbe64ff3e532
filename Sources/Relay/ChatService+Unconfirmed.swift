import LanguageModels

/// Openings of turns whose outcome is unknown. The client got `store_unavailable`, which says that nothing is stored, and that
/// the same request under the same key succeeds: both are made true as soon as the store answers.
extension ChatService {
    /// Notes that it is unknown whether a turn was opened.
    func note(unconfirmed id: ReplyID, appID: String, hasKey: Bool, onDisconnect: DisconnectPolicy?) {
        board.unconfirmed.note(
            UnconfirmedOpenings.Opening(
                id: id, appID: appID, hasKey: hasKey,
                onDisconnect: onDisconnect ?? .cancel(after: limits.disconnectGrace)))
    }

    /// Finds out about all of them.
    public func resolveUnconfirmed() async {
        for opening in board.unconfirmed.take() {
            // While the store is away it stays noted.
            if case .notFound? = try? await resolve(opening, runs: true) {
                board.unconfirmed.takeBack(opening)
            }
        }
    }

    /// Finds out about those of a conversation.
    ///
    /// - Returns: whether there were such turns.
    func resolveUnconfirmed(of appID: String) async throws(RelayError) -> Bool {
        var wasAny = false
        for opening in board.unconfirmed.take(where: { $0.appID == appID }) {
            if case .notFound = try await resolve(opening, runs: true) {
                board.unconfirmed.note(opening)
            } else {
                wasAny = true
            }
        }
        return wasAny
    }

    /// The reply of a turn that turned out to be open, for a retry with its key; it is to be run.
    func resolveUnconfirmed(_ id: ReplyID) async throws(RelayError) -> Reply? {
        for opening in board.unconfirmed.take(where: { $0.id == id }) {
            if case .found(let reply) = try await resolve(opening, runs: false) { return reply }
            board.unconfirmed.note(opening)
        }
        return nil
    }

    /// What became of an opening.
    private enum Outcome {
        case notFound
        /// No client will ask for it: it is removed.
        case withdrawn
        /// It is made.
        case found(Reply)
    }

    private func resolve(_ opening: UnconfirmedOpenings.Opening, runs: Bool) async throws(RelayError) -> Outcome {
        // Until it is on the board no prompt that waits for it may take it for given up.
        board.reserve(appID: opening.appID)
        do throws(RelayError) {
            if opening.hasKey {
                if let turn = try await store.openedTurn(opening.id, appID: opening.appID) {
                    board.open(turn.turn, for: turn.id)
                    let reply = begin(turn, passThrough: Self.members(of: turn), onDisconnect: opening.onDisconnect)
                    if runs {
                        scheduler.spawn { await reply.begin() }
                    }
                    return .found(reply)
                }
            } else if try await store.withdraw(opening.id, appID: opening.appID) {
                board.giveUp(appID: opening.appID)
                return .withdrawn
            }
        } catch {
            board.giveUp(appID: opening.appID)
            board.unconfirmed.note(opening)
            throw error
        }
        board.giveUp(appID: opening.appID)
        return .notFound
    }
}
