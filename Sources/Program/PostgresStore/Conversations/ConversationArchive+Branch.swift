import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

extension ConversationArchive {
    /// The limit of the messages in a page of a branch.
    private static let branchRows = 1_000
    /// The copies of a branch: its rows, and the texts that a request is compared with.
    private static let branchCopies = 2

    /// The messages that the next prompt of a conversation follows, or that would follow a reply, in order, with their reservation: seeded
    /// ones, and those of turns that a history has. None for a conversation that does not exist.
    ///
    /// - Throws: `historyTooLarge` beyond `limit` bytes of text; `overloaded`, `storeUnavailable`.
    public func branch(
        of key: ConversationKey, upTo reply: ReplyID? = nil, limit: Int
    ) async throws(RelayError) -> (rows: [ConversationRow], memory: MemoryReservation) {
        let reservation = memory.charge(0)
        // The last page of the conversation comes first.
        var pages: [[ConversationRow]] = []
        var size = 0
        var next = Int64.max
        while true {
            let entries = try await readers.runForRelay(
                ConversationRowStatements.entries(
                    of: key, before: next, limit: Self.branchRows, bytes: Self.pageBytes))
            guard let first = entries.first?.seq, let last = entries.last?.seq else { break }
            size += entries.reduce(0) { $0 + $1.size }
            guard size <= limit else {
                throw RelayError(
                    .historyTooLarge,
                    "The conversation is too long to be compared with the messages of the request. Send only the new ones, with X-History: append."
                )
            }
            guard reservation.grow(to: Self.branchCopies * size, for: .history) else {
                throw RelayError(overloading: memory)
            }
            var reading = Transaction()
            let messages = reading.add(
                ConversationRowStatements.messages(of: key, seqs: Self.seqs(of: entries)))
            let branch = reading.add(BranchStatements.ranges(of: key, upTo: reply, from: first, to: last))
            let page = try await readers.runForRelay(reading)
            let active = Array(page[branch])
            pages.append(page[messages].map(\.row).filter { row in active.contains { $0.contains(row.seq) } })
            next = first
        }
        return (Self.replayedTurns(of: Array(pages.reversed().joined())), reservation)
    }

    /// The rows of a branch without those of turns that a history omits. Prompts belong to the reply that follows them on the branch, which
    /// may be another one than that for which they were stored.
    private static func replayedTurns(of branch: [ConversationRow]) -> [ConversationRow] {
        var isReplayed = false
        var rows: [ConversationRow] = []
        for row in branch.reversed() {
            switch row.kind {
            case .message:
                rows.append(row)
            case .prompt:
                if isReplayed { rows.append(row) }
            case .reply(let reply):
                isReplayed =
                    reply.state == .complete
                    || reply.state != nil && AnswerSteps.isAnswer(text: row.content.span, row.extras.span)
                if isReplayed { rows.append(row) }
            case .choice:
                break
            }
        }
        return rows.reversed()
    }
}
