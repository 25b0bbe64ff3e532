import ChatterdBasics
import ChatterdIdentity

// What the journal asks of a reply.
extension Reply {
    /// The treatment of a reply in the next flush of the journal.
    enum JournalNeed {
        /// The reply has no content to journal before it changes again.
        case none
        /// A later flush must check again.
        case later
        /// The content, of that many bytes, must be journalled now.
        case now(size: Int)
    }

    /// Whether content must be journalled.
    func journalNeed(at now: Instant, generation: Int32) -> JournalNeed {
        // The content of the last line belongs to the ending.
        guard case .generating = phase, content.visible == content.end else { return .none }
        let size = content.pending(in: journalForm(at: now), generation: generation)
        guard size > 0 else { return .none }
        guard !content.isBeingJournalled, !isRestarting,
            isUrgent || now - startedAt >= context.limits.journalAge
        else { return .later }
        return .now(size: size)
    }

    /// The form in which the next content is journalled. Other processes read only the rows of a reply.
    private func journalForm(at now: Instant) -> ReplyContent.JournalForm {
        content.isTooLargeForSheets || audience.timeReadElsewhere(at: now) > .zero ? .rows : .sheet
    }

    /// Adds the content that is not journalled to a batch; `journalled(to:in:)` follows.
    ///
    /// - Returns: the end of the added content.
    func journal(on batch: any JournalBatch, generation: Int32, at now: Instant) -> ReplyPosition {
        guard journalForm(at: now) == .sheet else {
            noteOwnerCheck()
            return content.journal(as: turn, id, on: batch)
        }
        return content.journalOnSheet(as: turn, id, on: batch, generation: generation)
    }

    /// Whether sheets before a generation have text of the reply that later ones lack.
    func isBehind(_ generation: Int32) -> Bool { content.isBehind(generation) }

    /// Whether the journal lacks so much content that it must not wait for the tick.
    var isUrgent: Bool { content.unjournalled > context.limits.journalUrgency }

    /// Records that the content up to a position is in the journal, with the generation of its sheets; `nil` if it could not be written.
    func journalled(to position: ReplyPosition, in generation: Int32?) {
        if let generation {
            content.journalled(to: position, in: generation)
        } else {
            content.notJournalled(to: position)
        }
        if case .generating = phase, content.unjournalled > 0 {
            context.onDirty(self)
        }
        journalFlush.take()?.resume()
    }

    /// Waits until no content is on its way to the journal; without `all`, no content for rows of the reply. A sheet may arrive after
    /// the end.
    func waitForJournal(all: Bool = true) async {
        guard content.isBeingJournalled, all || content.isBeingJournalledInRows else { return }
        await withCheckedContinuation { journalFlush = $0 }
    }
}
