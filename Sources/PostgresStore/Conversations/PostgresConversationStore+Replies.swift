import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// How replies end, and how they are found and read.
extension PostgresConversationStore {
    public func closeTurn(_ turn: Turn, with reply: ClosingReply) async throws(RelayError) {
        do throws(RelayError) {
            try await storeEnd(of: turn, with: reply)
        } catch {
            if error.code == .replyNotStored || error.code == .storeUnavailable {
                // The reply stays open. This process releases it later if it does not know it then; other processes do so if this
                // process ends.
                lease.doubt()
            }
            throw error
        }
    }

    private func storeEnd(of turn: Turn, with reply: ClosingReply) async throws(RelayError) {
        if try await run([closing(turn, with: reply)], otherwise: .replyNotStored)[0].affectedRows == 1 { return }
        let attempt = reply.journalled.attempt
        let found = try await run([ownership(of: turn, reply.id)], otherwise: .replyNotStored)[0]
        guard let state = found.string(0, 0) else {
            throw RelayError(
                .conversationReplaced, "The conversation was replaced while the answer was being generated.")
        }
        let isOurs = found.bool(0, 2) == true
        guard isOurs, found.int(0, 1) == attempt else {
            // This process is the owner at another attempt: the database went back to an earlier state.
            if isOurs, ReplyState(rawValue: state) == nil { lease.doubt() }
            throw Self.taken("another process has closed or adopted the turn")
        }
        if let state = ReplyState(rawValue: state) {
            // The database lost the confirmation of an earlier try.
            if state == reply.ending.state, found.array(0, 3) == reply.ending.lastEvent { return }
            throw Self.taken("an earlier close of the turn with another ending was committed")
        }
        _ = try await run(
            [
                Query(
                    ReplyStatements.closeCut, .text(turn.appID), .int8(turn.number), reply.id.parameter,
                    lease.parameter, .int8(attempt))
            ], otherwise: .replyNotStored)
        throw Self.taken("the journal of the reply has a gap: the turn is closed with the text before it")
    }

    private static func taken(_ detail: String) -> RelayError {
        RelayError(.interrupted, RelayError.takenMeanwhile.message, detail: detail)
    }

    private func closing(_ turn: Turn, with reply: ClosingReply) -> Query {
        let journalled = reply.journalled
        var account = ByteBuffer()
        account.append(reply.account)
        var parameters: [Parameter] = [
            .text(turn.appID), .int8(turn.number), reply.id.parameter, lease.parameter,
            .text(reply.ending.state.rawValue), .utf8(reply.text), .utf8(reply.thinking), .utf8(reply.toolCalls),
            .utf8(reply.ending.lastEvent), .utf8(account.array), .int8(journalled.attempt),
        ]
        guard journalled.total > 0 else { return Query(ReplyStatements.close, parameters: parameters) }
        parameters += [
            .int8(journalled.total), .int8(journalled.text), .int8(journalled.thinking), .int8(journalled.toolCalls),
        ]
        return Query(ReplyStatements.closeJournalled, parameters: parameters)
    }

    private func ownership(of turn: Turn, _ id: ReplyID) -> Query {
        Query(
            ReplyStatements.ownership, .text(turn.appID), .int8(turn.number), id.parameter, lease.parameter)
    }

    public func restartTurn(_ turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) -> Int {
        let results = try await run([
            Query(
                ReplyStatements.restart, .text(turn.appID), .int8(turn.number), id.parameter, lease.parameter,
                .int8(attempt)),
            ownership(of: turn, id),
        ])
        let found = results[1]
        guard let state = found.string(0, 0) else { throw RelayError.goneMeanwhile }
        // This process is the owner and the attempt is one higher: this call or an earlier unconfirmed one has restarted the reply.
        guard ReplyState(rawValue: state) == nil, found.bool(0, 2) == true, found.int(0, 1) == attempt + 1 else {
            throw RelayError.takenMeanwhile
        }
        return attempt + 1
    }

    public func settleTurn(_ turn: Turn, isAbandoned: Bool, isUnwanted: Bool) async throws(RelayError) -> Bool {
        let results = try await run(
            [
                Query(
                    ReplyStatements.settleTurn, .text(turn.appID), .int8(turn.number), lease.parameter,
                    .boolean(isAbandoned), .boolean(isUnwanted)),
                Query(ReplyStatements.isSettled, .text(turn.appID), .int8(turn.number), lease.parameter),
            ], otherwise: .replyNotStored)
        if isAbandoned, results[1].bool(0, 1) == true {
            // It is given up for others to make again, if it stays unknown here.
            lease.doubt()
        } else if results[1].bool(0, 2) == true {
            // The client wants the reply regenerated. Any process with room adopts a released reply.
            _ = try await run([Query(LeaseStatements.releaseDead, .text(turn.appID), .int8(turn.number))])
        }
        return results[1].bool(0, 0) ?? false
    }

    public func findReply(_ id: ReplyID) async throws(RelayError) -> ReplyRecord? {
        let found = try await run([Query(ReplyStatements.find, id.parameter)])[0]
        guard found.rowCount > 0, let appID = found.string(0, 0), let number = found.int(0, 1) else { return nil }
        var record = ReplyRecord(
            id: id, turn: Turn(appID: appID, number: Int64(number)), model: found.string(0, 2) ?? "",
            state: found.string(0, 3).flatMap { ReplyState(rawValue: $0) }, attempt: found.int(0, 4) ?? 1,
            isAbandoned: found.bool(0, 5) ?? false, createdAt: Int64(found.int(0, 6) ?? 0),
            finishedAt: found.int(0, 7).map { Int64($0) })
        record.account = found.array(0, 8)
        return record
    }

    public func readReply(_ reply: ReplyRecord, from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        var position = position
        position.isEnd = false
        if let page = pages.page(of: reply.id, from: position) { return page }
        // A running reply grows, so a page that is under way may be too old to share.
        guard reply.state != nil else { return try await readPage(of: reply, from: position) }
        return try await pages.shared(reply.id, from: position) { () async throws(RelayError) in
            try await readPage(of: reply, from: position)
        }
    }

    private func readPage(of reply: ReplyRecord, from position: ReplyPosition) async throws(RelayError) -> ReplyPage {
        var position = position
        while true {
            let results = try await readers.runForRelay(
                [
                    Query(
                        ReplyStatements.read, .text(reply.turn.appID), .int8(reply.turn.number), reply.id.parameter,
                        .int8(min(position.text, .maximumOffset)), .int8(min(position.thinking, .maximumOffset)),
                        .int8(ReplyPageReader.chunk + ReplyPageReader.slack)),
                    Query(
                        JournalStatements.read, .text(reply.turn.appID), reply.id.parameter, .int8(position.attempt),
                        .int8(position.total), .int8(position.text), .int8(position.thinking),
                        .int8(position.toolCalls), .int8(ReplyPageReader.limit)),
                ], attempts: 1)
            guard results[0].rowCount == 1 else { throw Self.replyNotFound }
            let reader = ReplyPageReader(row: results[0], journal: results[1])
            let found = reader.pages(from: position)
            if let first = found.first {
                // A short reply has few readers and costs little. The last page of a long reply costs as much as its first.
                if reader.isOver, first.ending == nil || first.end.total > ReplyPageReader.limit {
                    pages.keep(found, of: reply.id)
                }
                return first
            }
            // There is no such place in it. From its start there is something to read in any case.
            position = ReplyPosition(attempt: reader.attempt)
        }
    }
}

extension Int {
    /// Beyond any text that the database can hold.
    fileprivate static let maximumOffset = 1 << 30
}
