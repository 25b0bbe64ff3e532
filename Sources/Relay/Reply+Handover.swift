/// How a reply is left to the other processes when this one is stopped.
extension Reply {
    /// Ends the reply, because the process ends.
    ///
    /// One that has no text yet keeps its place in the queue of a model server: whichever process makes it takes the place over.
    func stop() {
        if isEmpty {
            maker?.keepTicket()
        }
        cancel(ChatService.ending)
    }

    /// Leaves the reply to the others, if it ends because the process ends: one that has no text yet, or is to be made again.
    ///
    /// - Returns: whether it is theirs now; if not, it is stored as far as it came.
    func isLeftToOthers(after failure: RelayError) async -> Bool {
        guard service.isEnding, failure.code == .shuttingDown else { return false }
        do throws(RelayError) {
            return try await service.store.handOver(turn, id: id, attempt: contentEnd.attempt, isEmpty: isEmpty)
        } catch {
            // If it was done all the same, the store refuses to close the row.
            return false
        }
    }
}
