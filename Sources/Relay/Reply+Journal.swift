import LanguageModels

/// What the journal is given of a reply.
extension Reply {
    /// What is to be journalled now, if anything.
    func journalEntry(at now: UInt64) -> JournalEntry? {
        // What the last line carries belongs to the ending.
        guard case .making = phase, !isBeingJournalled, !isBeginningAgain, content.visible == content.end,
            content.unjournalled > 0,
            isUrgent || .nanoseconds(Int64(clamping: now &- begunAt)) >= service.limits.journalAge
        else { return nil }
        isBeingJournalled = true
        return JournalEntry(turn: turn, id: id, page: content.rest)
    }

    /// Whether there is so much that is not in the journal that it is not to wait for the tick.
    var isUrgent: Bool { content.unjournalled > service.limits.journalUrgency }

    /// The entry is in the store, or could not be written.
    func journalled(_ page: ReplyPage, isWritten: Bool) {
        isBeingJournalled = false
        if isWritten {
            content.journalled(to: page.end)
        }
        journalRound.take()?.resume()
    }
}
