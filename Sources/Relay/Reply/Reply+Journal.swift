import ChatterdLanguageModels

/// What the journal is given of a reply.
extension Reply {
    /// What a round of the journal is to do with a reply.
    enum JournalNeed {
        /// There is nothing to journal, and there will not be before it grows again.
        case none
        /// The next round is to ask again.
        case later
        /// It is to be journalled.
        case now
    }

    /// Whether there is something to journal.
    func journalNeed(at now: UInt64) -> JournalNeed {
        // What the last line carries belongs to the ending.
        guard case .making = phase, content.visible == content.end, content.unjournalled > 0 else { return .none }
        guard !content.isBeingJournalled, !isBeginningAgain,
            isUrgent || .nanoseconds(Int64(clamping: now &- begunAt)) >= service.limits.journalAge
        else { return .later }
        return .now
    }

    /// Writes down what is not in the journal yet; returns where that ends. `journalled` follows.
    func journal(on sheet: any JournalSheet) -> ReplyPosition {
        content.journal(as: turn, id, on: sheet)
    }

    /// The bytes that are not in the journal.
    var unjournalled: Int { content.unjournalled }

    /// Whether there is so much that is not in the journal that it is not to wait for the tick.
    var isUrgent: Bool { unjournalled > service.limits.journalUrgency }

    /// All up to a position is in the store, or could not be written.
    func journalled(to position: ReplyPosition, isWritten: Bool) {
        if isWritten {
            content.journalled(to: position)
        } else {
            content.notJournalled(to: position)
        }
        if case .making = phase, content.unjournalled > 0 {
            service.hasGrown(self)
        }
        journalRound.take()?.resume()
    }
}
