/// The handover of a reply when its process stops.
extension Reply {
    /// Ends the reply because the process stops.
    ///
    /// A reply without text keeps its ticket in the queue of a model server for its next owner.
    func stop() {
        if isEmpty {
            generator?.keepTicket()
        }
        cancel(ChatService.ending)
    }

    /// Hands the reply over if `failure` is the stop of the process. The store accepts replies without text, and replies with the policy
    /// `regenerate`.
    ///
    /// - Returns: whether the reply is handed over. If not, the caller stores the text so far.
    func isLeftToOthers(after failure: RelayError) async -> Bool {
        guard context.isEnding, failure.code == .shuttingDown else { return false }
        do throws(RelayError) {
            return try await context.store.handOver(turn, id: id, attempt: contentEnd.attempt, isEmpty: isEmpty)
        } catch {
            // If the handover happened without confirmation, the store refuses the close.
            return false
        }
    }
}
