import ChatterdBasics
import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// The conversations in the table `chatts`, and what belongs to them. Confined to its shard.
public final class PostgresConversationStore: ConversationStore, @unchecked Sendable {
    /// How often a batch is tried that lost against another one on the same conversation: each time somebody won, so that
    /// all that may wait on one conversation come through.
    private static let attempts = 100

    let pool: PostgresPool
    let lease: ProcessLease
    let historyLimit: Int
    /// The size limit of a conversation, in bytes, over all of its turns.
    private let conversationLimit: Int
    let memory: MemoryBudget
    /// Connections for large results. Statements that open turns use other connections.
    let readers: PostgresPool
    /// Pages that several readers may share.
    let pages: ReplyPages
    /// How long the name of a request is remembered.
    private let keyLifetime: Duration

    public init(
        pool: PostgresPool, readers: PostgresPool? = nil, lease: ProcessLease, historyLimit: Int,
        conversationLimit: Int = 1 << 30, memory: MemoryBudget = MemoryBudget(limit: 1 << 30),
        keyLifetime: Duration = .seconds(86_400), pageLifetime: Duration = .seconds(10)
    ) {
        self.pool = pool
        self.readers = readers ?? pool
        self.memory = memory
        self.conversationLimit = conversationLimit
        pages = ReplyPages(on: pool.shard, budget: memory, lifetime: pageLifetime)
        self.lease = lease
        self.historyLimit = historyLimit
        self.keyLifetime = keyLifetime
    }

    public func openTurn(_ opening: TurnOpening) async throws(RelayError) -> TurnOpened {
        var queries = [openQuery(opening), HistoryReader.first(of: opening.appID)]
        if let key = opening.key {
            queries.append(
                Query(ConversationStatements.keyedReply, .text(opening.appID), .text(key.text), .bytes(key.digest)))
        }
        let results = try await runHolding(queries)
        if let number = results[0].int(0, 0) {
            let turn = Turn(appID: opening.appID, number: Int64(number))
            return .opened(turn, await openedHistory(from: results[1], of: turn))
        }
        if opening.key != nil, let known = try Self.knownReply(results[2]) { return .known(known) }
        try await requireRoom(in: opening.appID, for: Self.cost(of: opening.prompts))
        throw RelayError(.replyNotFound, "There is no such reply in this conversation.")
    }

    /// Throws `historyTooLarge` if the conversation is full. The statement has appended nothing then.
    private func requireRoom(in appID: String, for bytes: Int) async throws(RelayError) {
        let total = try await run([Query(ConversationStatements.total, .text(appID))])[0].int(0, 0) ?? 0
        guard total + bytes > conversationLimit else { return }
        throw RelayError(
            .historyTooLarge,
            "The conversation has reached its limit (CHATTERD_CONVERSATION_LIMIT, \(conversationLimit) bytes). Start it again "
                + "with /llmprep, or delete it.")
    }

    /// The bytes that prompts and the row of their reply add to a conversation.
    private static func cost(of prompts: [ModelMessage]) -> Int {
        prompts.reduce(0) {
            $0 + $1.content.utf8.count + ($1.extras?.utf8.count ?? 0) + ConversationStatements.rowCost
        }
    }

    public func knownReply(appID: String, key: IdempotencyKey) async throws(RelayError) -> ReplyID? {
        let results = try await run([
            Query(ConversationStatements.keyedReply, .text(appID), .text(key.text), .bytes(key.digest))
        ])
        return try Self.knownReply(results[0])
    }

    private static func knownReply(_ result: QueryResult) throws(RelayError) -> ReplyID? {
        guard let known = result.replyID(0, 0) else { return nil }
        guard result.bool(0, 1) == true else {
            throw RelayError(
                .idempotencyKeyReused, "This Idempotency-Key came with another request before. Use a new one.")
        }
        return known
    }

    private func openQuery(_ opening: TurnOpening) -> Query {
        let prompts = opening.prompts
        var parameters: [Parameter] = [
            .text(opening.appID), .textArray(prompts.map(\.role) + ["assistant"]),
            .textArray(prompts.map(\.content) + [""]), .textArray(prompts.map { $0.extras ?? "" } + [""]),
            opening.id.parameter, .text(opening.model), lease.parameter,
            opening.options.isEmpty ? .null : .utf8(opening.options),
            opening.onInterrupt.parameter,
        ]
        let room: [Parameter] = [.int8(Self.cost(of: prompts)), .int8(conversationLimit)]
        if opening.parent == nil, opening.key == nil {
            parameters += room
            return Query(ConversationStatements.openTurn, parameters: parameters)
        }
        switch opening.parent {
        case nil: parameters += [.text("tip"), .null]
        case .start: parameters += [.text("start"), .null]
        case .reply(let id): parameters += [.text("reply"), id.parameter]
        }
        parameters += [
            opening.key.map { .text($0.text) } ?? .null, opening.key.map { .bytes($0.digest) } ?? .null,
            .int8(keyLifetime.components.seconds),
        ]
        parameters += room
        return Query(ConversationStatements.openNamedTurn, parameters: parameters)
    }

    public func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, onInterrupt: InterruptPolicy
    ) async throws(RelayError) -> ReopenedTurn {
        let appID = reply.turn.appID
        let results = try await runHolding([
            Query(
                ConversationStatements.openAlternative, .text(appID), .int8(reply.turn.number), reply.id.parameter,
                id.parameter, model.map { .text($0) } ?? .null, lease.parameter, onInterrupt.parameter,
                .int8(conversationLimit)),
            HistoryReader.first(of: appID),
        ])
        guard let number = results[0].int(0, 0) else {
            try await requireRoom(in: appID, for: 0)
            throw Self.replyNotFound
        }
        let turn = Turn(appID: appID, number: Int64(number))
        return ReopenedTurn(
            turn: turn, id: id, model: results[0].string(0, 1) ?? "", options: results[0].array(0, 2), attempt: 1,
            history: await openedHistory(from: results[1], of: turn))
    }

    public func adoptAbandoned(
        limit: Int, except known: [ReplyID], onClaim: (Turn, ReplyID) -> Void
    ) async throws(RelayError) -> [ReopenedTurn] {
        let adopted = try await runHolding([
            Query(
                ReplyStatements.adopt, lease.parameter, .int8(limit), .uuidArray(known.map { ($0.high, $0.low) }))
        ])[0]
        let claims = (0..<adopted.rowCount).compactMap { row -> (row: Int, turn: Turn, id: ReplyID)? in
            guard let appID = adopted.string(row, 0), let number = adopted.int(row, 1), let id = adopted.replyID(row, 2)
            else { return nil }
            return (row, Turn(appID: appID, number: Int64(number)), id)
        }
        for claim in claims {
            onClaim(claim.turn, claim.id)
        }
        return claims.map { claim in
            ReopenedTurn(
                turn: claim.turn, id: claim.id, model: adopted.string(claim.row, 3) ?? "",
                options: adopted.array(claim.row, 4), attempt: adopted.int(claim.row, 5) ?? 1,
                // Each reply reads its history when it starts, as memory allows.
                history: TurnHistory(unreadBehind: []))
        }
    }

    public func history(of turn: Turn, for id: ReplyID) async throws(RelayError) -> TurnHistory {
        let results = try await run([
            HistoryReader.first(of: turn.appID),
            // Asked last: a reply that is still there was there before.
            Query(
                ConversationStatements.replyState, .text(turn.appID), .int8(turn.number), id.parameter,
                lease.parameter),
        ])
        guard results[1].rowCount == 1 else {
            throw RelayError(.conversationReplaced, "The conversation was replaced before the prompt was answered.")
        }
        var reader = reader(of: turn, from: results[0])
        return try await reader.read(evenIfUnfinished: true)
    }

    /// The history of a committed turn. It cannot fail: a history that the store cannot read now stays unread, and the reply reads
    /// it when it starts.
    private func openedHistory(from first: QueryResult, of turn: Turn) async -> TurnHistory {
        var reader = reader(of: turn, from: first)
        do throws(RelayError) {
            return try await reader.read(evenIfUnfinished: false)
        } catch {
            return TurnHistory(unreadBehind: [])
        }
    }

    private func reader(of turn: Turn, from first: QueryResult) -> HistoryReader {
        HistoryReader(from: first, of: turn, limit: historyLimit, pool: readers, budget: memory)
    }

    static let replyNotFound = RelayError(.replyNotFound, "There is no such reply.")

    // MARK: - Batches

    /// Runs a batch; gives a result for each query.
    func run(
        _ queries: [Query], otherwise code: RelayError.Code = .internal
    ) async throws(RelayError) -> [QueryResult] {
        try await pool.runForRelay(queries, attempts: Self.attempts, otherwise: code)
    }

    /// Runs a batch by which this process comes to hold a turn: it must be known to be alive.
    private func runHolding(_ queries: [Query]) async throws(RelayError) -> [QueryResult] {
        let now = pool.shard.now
        let isLate = lease.isLate(at: now)
        do throws(RelayError) {
            var results = try await run((isLate ? [lease.renewal] : []) + queries)
            if isLate {
                lease.renewed(at: now)
                results.removeFirst()
            }
            return results
        } catch {
            if error.code == .storeUnavailable {
                // If it was done all the same, nobody here knows of the turn.
                lease.doubt()
            }
            throw error
        }
    }
}

extension PostgresPool {
    /// Runs a batch, again when it lost a race for a place; what the store's absence explains becomes `storeUnavailable`.
    public func runForRelay(
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

extension ReplyID {
    /// The name as a parameter.
    var parameter: Parameter { .uuid(high: high, low: low) }
}

extension InterruptPolicy {
    /// The policy as a parameter; none for the usual one.
    fileprivate var parameter: Parameter { self == .close ? .null : .text(rawValue) }
}

extension QueryResult {
    /// The name of a reply from a field of type uuid in binary; nothing for NULL.
    func replyID(_ row: Int, _ column: Int) -> ReplyID? {
        guard row < rowCount else { return nil }
        let bytes = bytes(row, column)
        guard bytes.count == 16 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for index in 0..<8 {
            halves.0 = halves.0 << 8 | UInt64(bytes[index])
            halves.1 = halves.1 << 8 | UInt64(bytes[index + 8])
        }
        return ReplyID(high: halves.0, low: halves.1)
    }

    /// The bytes of a field, to keep; none for NULL.
    public func array(_ row: Int, _ column: Int) -> [UInt8] {
        bytes(row, column).array
    }
}
