import Bytes
import LanguageModels
import Postgres
import Relay
import Sockets

/// The conversations in the table `chatts`. Confined to its shard.
final class PostgresConversationStore: ConversationStore, @unchecked Sendable {
    /// How often a batch is tried that lost against another one on the same conversation: each time somebody won, so that
    /// all that may wait on one conversation come through.
    private static let attempts = 100

    private let pool: PostgresPool
    private let lease: ProcessLease
    private let historyLimit: Int

    init(pool: PostgresPool, lease: ProcessLease, historyLimit: Int) {
        self.pool = pool
        self.lease = lease
        self.historyLimit = historyLimit
    }

    func openTurn(_ opening: TurnOpening) async throws(RelayError) -> TurnOpened {
        let appID = opening.appID
        let prompts = opening.prompts
        let now = pool.shard.now
        let renewal = lease.renewal(at: now)
        let results = try await run(
            (renewal.map { [$0] } ?? []) + [
                Query(
                    ConversationStatements.openTurn, .text(appID), .textArray(prompts.map(\.role)),
                    .textArray(prompts.map(\.content)), .textArray(prompts.map { $0.extras ?? "" }), lease.parameter),
                Query(ConversationStatements.history, .text(appID)),
            ])
        if renewal != nil {
            lease.renewed(at: now)
        }
        guard let rows = results.last, let number = results.dropLast().last?.int(0, 0) else {
            throw RelayError(.internal, "The prompt could not be stored.", detail: "openTurn returned no row")
        }
        let turn = Turn(appID: appID, number: Int64(number))
        return .opened(turn, TurnHistory(rows: rows, turn: turn, limit: historyLimit))
    }

    func settleTurn(_ turn: Turn, isAbandoned: Bool) async throws(RelayError) -> Bool {
        let results = try await run(
            [
                Query(
                    ConversationStatements.settleTurn, .text(turn.appID), .int8(turn.number), lease.parameter,
                    .boolean(isAbandoned)),
                Query(ConversationStatements.isSettled, .text(turn.appID), .int8(turn.number)),
            ], otherwise: .replyNotStored)
        return results.last?.bool(0, 0) ?? false
    }

    func history(of turn: Turn) async throws(RelayError) -> TurnHistory {
        let results = try await run([Query(ConversationStatements.history, .text(turn.appID))])
        guard let rows = results.first else {
            throw RelayError(.internal, "The conversation could not be read.", detail: "history returned nothing")
        }
        guard TurnHistory.holds(turn, rows) else {
            throw RelayError(.conversationReplaced, "The conversation was replaced before the prompt was answered.")
        }
        return TurnHistory(rows: rows, turn: turn, limit: historyLimit)
    }

    func closeTurn(_ turn: Turn, with reply: ClosingReply) async throws(RelayError) {
        let id = Parameter.uuid(high: reply.id.high, low: reply.id.low)
        var extras = ByteBuffer()
        if !reply.toolCalls.isEmpty {
            extras.append("\"tool_calls\":[")
            extras.append(reply.toolCalls)
            extras.append("]")
        }
        let stored = try await run(
            [
                Query(
                    ConversationStatements.closeTurn, .text(turn.appID), .int8(turn.number), .utf8(reply.text), id,
                    .text(""), .utf8(extras.array), .utf8(reply.thinking), .text(reply.ending.state.rawValue))
            ], otherwise: .replyNotStored)
        if stored.first?.affectedRows == 1 { return }
        let found = try await run([Query(ConversationStatements.isClosed, .text(turn.appID), .int8(turn.number))])
        guard found.first?.rowCount == 1 else {
            throw RelayError(
                .conversationReplaced, "The conversation was replaced while the answer was being made.")
        }
        throw RelayError(
            .interrupted, "The answer took so long to be stored that the turn was given up. Ask again.",
            detail: "another process has closed the turn")
    }

    func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, onInterrupt: InterruptPolicy
    ) async throws(RelayError) -> ReopenedTurn { throw RelayError(.internal, "not there yet") }
    func adoptAbandoned(limit: Int) async throws(RelayError) -> [ReopenedTurn] { [] }
    func journal(_ entries: [JournalEntry]) async throws(RelayError) -> [ReplySignal] { [] }
    func findReply(_ id: ReplyID) async throws(RelayError) -> ReplyRecord? { nil }
    func readReply(_ reply: ReplyRecord, from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        throw RelayError(.internal, "not there yet")
    }
    func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError) {}
    func choose(_ reply: ReplyRecord) async throws(RelayError) {}
    func deleteConversation(appID: String) async throws(RelayError) {}

    func replaceConversation(appID: String, with messages: [ModelMessage]) async throws(RelayError) {
        _ = try await run([
            Query(
                ConversationStatements.replace, .text(appID), .textArray(messages.map(\.role)),
                .textArray(messages.map(\.content)), .textArray(messages.map { $0.extras ?? "" }))
        ])
    }

    private func run(
        _ queries: [Query], otherwise code: RelayError.Code = .internal
    ) async throws(RelayError) -> [QueryResult] {
        try await pool.runForRelay(queries, attempts: Self.attempts, otherwise: code)
    }
}

extension PostgresPool {
    /// Runs a batch, again when it lost a race for a place; what the store's absence explains becomes `storeUnavailable`.
    func runForRelay(
        _ queries: [Query], attempts: Int, otherwise code: RelayError.Code = .internal
    ) async throws(RelayError) -> [QueryResult] {
        var left = attempts
        while true {
            left -= 1
            do throws(PostgresError) {
                return try await run(queries)
            } catch  where error.code == .uniqueViolation && left > 0 {
                continue
            } catch {
                throw RelayError(error, otherwise: code)
            }
        }
    }
}

extension RelayError {
    /// The error of a store, without its words: those are for the log.
    init(_ error: PostgresError, otherwise code: Code) {
        if error.isStoreAway {
            self.init(
                .storeUnavailable, "The database cannot be reached. Try again in a moment.", detail: error.description)
        } else if code == .replyNotStored {
            self.init(code, "The answer could not be stored.", detail: error.description)
        } else {
            self.init(code, "The database refused to store this.", detail: error.description)
        }
    }
}

extension PostgresError {
    /// Whether the store as a whole is away, too slow or read-only: another time the same may succeed.
    fileprivate var isStoreAway: Bool {
        switch code {
        case .connectionFailed, .connectionLost, .timedOut, .overloaded, .shuttingDown, .readOnly,
            .serializationFailure,
            .insufficientResources:
            true
        default: false
        }
    }
}
