import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

// Turns that are opened, and replies that end, while the database is busy share transactions: `GroupQueue`.
extension PostgresConversationStore {
    typealias Openings = GroupQueue<NewTurn, Result<OpenedRows, RelayError>>
    typealias Ends = GroupQueue<GroupStatements.End, Result<Bool, RelayError>>

    /// What the transaction that opens a turn has returned.
    struct OpenedRows: Sendable {
        let turn: ConversationStatements.InsertedTurn
        let history: HistoryBatch.FirstPage
        let quota: Quota?
    }

    /// The size of a turn that may be opened with others, in bytes: it follows the last turn of its conversation, its prompts have text only,
    /// nothing can refuse it but the size of the conversation, its idempotency key and limits, it changes no tools, and it is short. `nil` for
    /// other turns.
    static func sharedSize(of opening: NewTurn) -> Int? {
        guard opening.parent == nil, opening.whenBusy == .wait, opening.newTools == nil,
            opening.prompts.allSatisfy({ $0.extras == nil })
        else { return nil }
        let bytes = textSize(of: opening.prompts) + opening.options.count
        return bytes <= Openings.mostBytes / 4 ? bytes : nil
    }

    /// The size of the end of a reply that may be stored with others, in bytes: nothing of it is journalled, and it is short. `nil` for others.
    static func sharedSize(of end: ClosingReply) -> Int? {
        let bytes = end.text.count + end.thinking.count + end.toolCalls.count + end.ending.lastEvent.count
        return end.journalled.total == 0 && bytes <= Ends.mostBytes / 4 ? bytes : nil
    }

    /// Opens turns in one transaction, and gives the others their outcomes. Returns that of the first; `nil` if it is to be opened
    /// alone.
    func openTogether(
        _ first: NewTurn, _ followers: [Openings.Follower], in lane: Openings.Lane
    ) async -> Result<OpenedRows, RelayError>? {
        let turns = [first] + followers.map(\.entry.change)
        let batch = GroupedOpenings(
            turns, owner: lease.id, keyLifetime: keyLifetime, limit: conversationLimit, in: histories)
        let outcomes = await outcomes(of: turns.count, otherwise: .internal) { () async throws(PostgresError) in
            batch.opened(in: try await runOwning(batch.transaction, attempts: 1))
        }
        openings.leave(lane)
        for (follower, outcome) in zip(followers, outcomes.dropFirst()) {
            openings.resume(follower, with: outcome)
        }
        return outcomes[0]
    }

    /// Stores the ends of replies in one transaction, and gives the others their outcomes: whether a row was changed. Returns that of
    /// the first; `nil` if it is to be stored alone.
    func closeTogether(
        _ first: GroupStatements.End, _ followers: [Ends.Follower], in lane: Ends.Lane
    ) async -> Result<Bool, RelayError>? {
        let group = [first] + followers.map(\.entry.change)
        let outcomes = await outcomes(of: group.count, otherwise: .replyNotStored) { () async throws(PostgresError) in
            let changed = try await pool.run(GroupStatements.close(group, owner: lease.id))
            return changed.reduce(into: [Bool?](repeating: false, count: group.count)) { $0[$1] = true }
        }
        ends.leave(lane)
        for (follower, outcome) in zip(followers, outcomes.dropFirst()) {
            ends.resume(follower, with: outcome)
        }
        return outcomes[0]
    }

    /// The outcomes of the changes of a group. If the database has refused the group, each runs alone: one of them may be the cause, or wait
    /// for a lock. If the database may have stored the group, or cannot be reached, all of them have that outcome.
    private func outcomes<Value>(
        of count: Int, otherwise code: RelayError.Code, _ run: () async throws(PostgresError) -> [Value?]
    ) async -> [Result<Value, RelayError>?] {
        do throws(PostgresError) {
            return try await run().map { value in value.map { .success($0) } }
        } catch {
            let isRefused: Bool =
                switch error.code {
                case .connectionFailed, .connectionLost, .overloaded, .shuttingDown: false
                // A code of the server says that it has rolled back.
                case .timedOut: error.sqlState != nil
                default: true
                }
            let failure: Result<Value, RelayError>? = isRefused ? nil : .failure(RelayError(error, otherwise: code))
            return Array(repeating: failure, count: count)
        }
    }
}

extension NewTurn {
    /// The source whose limits it counts against; `nil` for none.
    var limitedSource: UsageSource? { meter.flatMap { $0.isLimited ? $0.source : nil } }
}

/// The transaction that opens the turns of a group.
private struct GroupedOpenings {
    private(set) var transaction = Transaction()
    private let open: Transaction.Step<GroupStatements.Opened>
    /// The history and the charge of each turn.
    private var rest: [(history: HistoryBatch, charge: Transaction.Step<Quota>?)] = []

    init(_ turns: [NewTurn], owner: ReplyID, keyLifetime: Duration, limit: Int, in cache: HistoryCache) {
        open = transaction.add(
            GroupStatements.open(
                turns, sizes: turns.map { PostgresConversationStore.size(of: $0.prompts) }, owner: owner,
                keyLifetime: keyLifetime, limit: limit))
        for turn in turns {
            let charge = turn.meter.map { meter in
                transaction.add(
                    UsageStatements.charge(
                        meter, for: turn.id, in: turn.conversation,
                        bytes: PostgresConversationStore.textSize(of: turn.prompts)))
            }
            let history = HistoryBatch(of: turn.conversation, in: cache, for: turn.reach, &transaction)
            rest.append((history, charge))
        }
    }

    /// The rows of each turn; `nil` for one that its conversation has no room for, or whose idempotency key is in use.
    func opened(in results: Transaction.Results) -> [PostgresConversationStore.OpenedRows?] {
        results[open].reduce(into: Array(repeating: nil, count: rest.count)) { opened, found in
            let (history, charge) = rest[found.index]
            opened[found.index] = PostgresConversationStore.OpenedRows(
                turn: found.turn, history: history.found(in: results), quota: charge.flatMap { results[$0].first })
        }
    }
}
