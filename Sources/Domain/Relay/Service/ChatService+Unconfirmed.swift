import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// Openings of turns whose outcome is unknown. The client got `store_unavailable`, which promises that the prompt is not stored and that a
/// retry under the same key succeeds. The service fulfils both promises as soon as the store answers: it removes a turn without a key, and
/// runs the reply of a turn with a key.
extension ChatService {
    /// Records a turn whose opening the store has not confirmed.
    func note(unconfirmed id: ReplyID, in conversation: ConversationKey, hasKey: Bool, onDisconnect: DisconnectPolicy?)
    {
        board.unconfirmed.note(
            UnconfirmedOpenings.Opening(
                id: id, conversation: conversation, hasKey: hasKey,
                onDisconnect: onDisconnect ?? .cancel(after: limits.disconnectGrace)))
    }

    /// Resolves all unconfirmed openings.
    public func resolveUnconfirmed() async {
        for opening in board.unconfirmed.removeAll() {
            // If the store is unavailable, the opening stays recorded.
            if case .notFound? = try? await resolve(opening, runs: true) {
                board.unconfirmed.noteNotFound(opening)
            }
        }
    }

    /// Resolves the unconfirmed openings of a conversation.
    ///
    /// - Returns: whether the store had any of their turns.
    func resolveUnconfirmed(of conversation: ConversationKey) async throws(RelayError) -> Bool {
        var hasFound = false
        for opening in board.unconfirmed.removeAll(where: { $0.conversation == conversation }) {
            if case .notFound = try await resolve(opening, runs: true) {
                board.unconfirmed.note(opening)
            } else {
                hasFound = true
            }
        }
        return hasFound
    }

    /// The reply of an unconfirmed turn that is open, for a retry with its key; the caller runs it.
    func resolveUnconfirmed(_ id: ReplyID) async throws(RelayError) -> Reply? {
        for opening in board.unconfirmed.removeAll(where: { $0.id == id }) {
            if case .found(let reply) = try await resolve(opening, runs: false) { return reply }
            board.unconfirmed.note(opening)
        }
        return nil
    }

    /// The result of an attempt to resolve an opening.
    private enum Outcome {
        case notFound
        /// The turn is removed, because no client can ask for its reply.
        case withdrawn
        /// The reply runs.
        case found(Reply)
    }

    private func resolve(_ opening: UnconfirmedOpenings.Opening, runs: Bool) async throws(RelayError) -> Outcome {
        // The reservation keeps later prompts from treating the turn as abandoned before it is on the board.
        board.reserveTurnWithoutLimit(in: opening.conversation)
        do throws(RelayError) {
            if opening.hasKey {
                if let turn = try await store.openedTurn(opening.id, in: opening.conversation) {
                    board.open(turn.turn, for: turn.id)
                    let members = Self.members(of: turn)
                    let reply = begin(
                        turn, as: .prompt, passThrough: members, onDisconnect: opening.onDisconnect,
                        trace: storedTrace(of: members, as: .prompt))
                    if runs {
                        scheduler.spawn(with: reply) { await $0.begin() }
                    }
                    return .found(reply)
                }
            } else if try await store.withdraw(opening.id, in: opening.conversation) {
                board.cancelReservation(in: opening.conversation)
                return .withdrawn
            }
        } catch {
            board.cancelReservation(in: opening.conversation)
            board.unconfirmed.note(opening)
            throw error
        }
        board.cancelReservation(in: opening.conversation)
        return .notFound
    }
}
