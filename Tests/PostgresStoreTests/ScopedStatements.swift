import ChatterdChat
import ChatterdIdentity
import ChatterdRelay

@testable import ChatterdPostgres
@testable import ChatterdPostgresStore

/// One query of each statement that runs as the role of requests, about one conversation. A test compares the list with the sources.
struct ScopedStatements {
    let key: ConversationKey
    /// A reply of the conversation that has ended, and its row.
    let reply: ReplyID
    let number: Int64
    /// A process, and a running reply that it owns.
    let process: ReplyID
    let running: ReplyID
    let runningNumber: Int64

    var all: [BoundStatement] { reading + opening + closing + changing + removing }

    private var turn: Turn { Turn(conversation: key, number: number) }
    private var runningTurn: Turn { Turn(conversation: key, number: runningNumber) }
    private var record: ReplyRecord {
        ReplyRecord(
            id: reply, turn: turn, model: "m", state: .complete, attempt: 1, isAbandoned: false, createdAt: 0,
            finishedAt: 0)
    }
    private var position: ReplyPosition { ReplyPosition(attempt: 1, text: 8, thinking: 0, toolCalls: 0) }
    private var messages: [ModelMessage] { [ModelMessage(role: "user", content: "a")] }
    private var target: ConversationKey { ConversationKey(key.owner, name: "copy") }
    private var meter: Meter {
        Meter(source: .key("k"), owner: key.owner, sourceLimits: Allowance(), ownerLimits: Allowance())
    }
    /// The rows of a page.
    private var seqs: ParameterArray {
        var seqs = ParameterArray()
        for seq in number - 200..<number {
            seqs.append(seq)
        }
        return seqs
    }

    private var reading: [BoundStatement] {
        typealias Rows = ConversationRowStatements
        var list = CatalogueQuery(owner: key.owner, limit: 50)
        list.position = CataloguePosition(updatedAt: 1, name: key.name)
        return [
            Rows.header(of: key).bound, Rows.entries(of: key, before: number, limit: 200, bytes: 1 << 20).bound,
            Rows.entries(of: key, after: number, limit: 200, bytes: 1 << 20).bound,
            Rows.entries(of: key, after: 0, upTo: number, limit: 200, bytes: 1 << 20).bound,
            Rows.surroundings(of: key, first: number, last: number).bound, Rows.rows(of: key, seqs: seqs).bound,
            Rows.messages(of: key, seqs: seqs).bound, Rows.running(in: key).bound,
            Rows.exists(number, reply, in: key).bound,
            BranchStatements.ranges(of: key, from: number - 200, to: number).bound,
            BranchStatements.ranges(of: key, upTo: reply, from: number - 200, to: number).bound,
            ImportStatements.end(of: key).bound,
            HistoryStatements.page(of: key, after: 0, upTo: number, limit: 200).bound,
            HistoryStatements.firstRows(of: key, limit: 200).bound,
            HistoryStatements.branchRow(of: key, leadingTo: number, limit: 64).bound,
            HistoryStatements.version(of: key).bound,
            HistoryStatements.sizes(of: key, seqs: seqs).bound, HistoryStatements.rows(of: key, seqs: seqs).bound,
            FeedStatements.state(of: key).bound,
            FeedStatements.events(
                of: key, after: FeedPosition(epoch: 1, revision: number, number: number), limit: 100, bytes: 1 << 20
            ).bound,
            CatalogueStatements.list(list).bound, CatalogueStatements.entry(of: key).bound,
            CatalogueStatements.metadata(of: key).bound,
            CatalogueStatements.beginning(of: key).bound,
            CatalogueStatements.search(key, for: "a", after: 0, rows: 200, bytes: 1 << 20).bound,
            CatalogueStatements.keys(of: list, after: nil).bound,
            RequestStatements.options(of: turn, id: reply).bound, RequestStatements.prompts(of: turn, id: reply).bound,
            RequestStatements.repeated(HistoryDigest(high: 1, low: 2)).bound,
            RequestStatements.find([], of: key.owner, key: nil, name: nil).bound,
            ReplyStatements.ownership(of: turn, id: reply, by: process).bound,
            SettlementStatements.isSettled(turn, process: process).bound, ReplyStatements.find(reply).bound,
            ReplyStatements.read(record, from: position, steps: nil, limit: 1 << 16).bound,
            JournalStatements.read(running, in: key, from: position, limit: 1 << 16).bound,
            ConversationStatements.running(in: key).bound, ConversationStatements.tools(of: key).bound,
            ConversationStatements.keyedReply(in: key, key: IdempotencyKey(text: "k", digest: [1])).bound,
            ConversationStatements.openedTurn(running, in: key, owner: process).bound,
            ConversationStatements.isReplayed(turn, id: reply).bound,
            ConversationStatements.total(of: key).bound,
            RemovalStatements.isRunning(turn, id: reply).bound,
        ]
    }

    private var opening: [BoundStatement] {
        var opening = NewTurn(conversation: key, prompts: messages, id: process, model: "m")
        opening.parent = .reply(reply)
        opening.key = IdempotencyKey(text: "k", digest: [1])
        var columns = ConversationColumns(after: 0)
        columns.append(
            ConversationRow(
                seq: number, kind: .message, after: nil, time: 0, role: [], content: [], thinking: [], extras: []))
        var plain = opening
        plain.key = nil
        return [
            GroupStatements.open(
                [plain], sizes: [1], owner: process, keyLifetime: .seconds(1), limit: 1 << 30
            ).bound,
            GroupStatements.open(
                [plain, opening], sizes: [1, 1], owner: process, keyLifetime: .seconds(1), limit: 1 << 30
            ).bound,
            ConversationStatements.openTurn(opening, owner: process, size: 1, limit: 1 << 30).bound,
            ConversationStatements.openNamedTurn(
                opening, owner: process, keyLifetime: .seconds(1), size: 1, limit: 1 << 30
            ).bound,
            ConversationStatements.openAlternative(
                to: record, as: process, model: nil, owner: process, onInterrupt: .close, limit: 1 << 30
            ).bound,
            ConversationStatements.choose(turn, id: reply).bound,
            UsageStatements.charge(meter, for: running, in: key, bytes: 1).bound,
            CatalogueStatements.create(target, title: nil, messages: messages).bound,
            BranchStatements.fork(key, at: reply, to: target, title: nil, limit: 1 << 30).bound,
            ItemStatements.add(messages, to: key, limit: 1 << 30).bound,
            ImportStatements.add(columns, nil, to: key, after: number, count: 1, from: nil).bound,
            AttachmentStatements.attach(Attachments(), to: key, limit: 0).bound,
            AttachmentStatements.release(in: key).bound,
            AttachmentStatements.hold(of: key).bound,
            AttachmentStatements.share(from: key, with: target).bound,
        ]
    }

    private var closing: [BoundStatement] {
        func reply(behind journalled: ReplyPosition) -> ClosingReply {
            ClosingReply(
                id: running, journalled: journalled, text: [], thinking: [], toolCalls: [],
                ending: ReplyEnding(state: .complete, lastEvent: []))
        }
        return [
            ReplyStatements.close(runningTurn, with: reply(behind: ReplyPosition()), history: nil, owner: process)
                .bound,
            ReplyStatements.close(runningTurn, with: reply(behind: position), history: nil, owner: process).bound,
            GroupStatements.close(
                [GroupStatements.End(turn: runningTurn, reply: reply(behind: ReplyPosition()), history: nil)],
                owner: process
            ).bound,
            SettlementStatements.closeCut(runningTurn, id: running, owner: process, attempt: 1).bound,
            SettlementStatements.settleTurn(
                runningTurn, process: process, isAbandonedHere: true, closesRegenerated: true
            ).bound,
            DeliveryStatements.add(endOf: runningTurn, for: ["a"]).bound,
            ReplyStatements.restart(runningTurn, id: running, owner: process, attempt: 1).bound,
            ReplyStatements.storeSteps([], of: runningTurn, id: running, owner: process, attempt: 1).bound,
            ReplyStatements.steps(of: runningTurn, id: running).bound,
            ReplyStatements.answer(.approved, to: StepPlace(round: 0, index: 0), of: runningTurn, id: running).bound,
            ReplyStatements.approvals(of: runningTurn, id: running).bound,
            LeaseStatements.release(runningTurn, owner: process).bound,
            LeaseStatements.handOver(runningTurn, id: running, owner: process, attempt: 1, isEmpty: true).bound,
            LeaseStatements.releaseDead(runningTurn).bound,
            JournalStatements.signal(.stop, to: runningTurn, id: running).bound,
            ConversationStatements.stopRunning(in: key, except: running).bound,
        ]
    }

    private var changing: [BoundStatement] {
        let change = ConversationChange(title: .removed)
        return [
            ConversationRevision.lock(key).bound, CatalogueStatements.change(key, change).bound,
            CatalogueStatements.setMetadata("", of: key).bound,
            ConversationStatements.setTools([], of: key, by: running).bound,
            ItemStatements.replace(number, id: reply, of: key, at: 1, content: [], extras: []).bound,
            CatalogueStatements.titled(key, "t").bound, CatalogueStatements.trimLog(of: key).bound,
        ]
    }

    private var removing: [BoundStatement] {
        [
            ConversationStatements.withdraw(running, in: key, owner: process).bound,
            ConversationStatements.replace(key, with: messages).bound,
            ConversationStatements.deleteRows(of: key, limit: 200).bound,
            ItemStatements.remove(number, id: reply, of: key, at: 1).bound,
            ConversationStatements.deleteKeys(of: key, limit: 200).bound,
            ConversationRevision.removeEmpty(key).bound, ConversationRevision.removeUnopened(key).bound,
            JournalStatements.sweep(key, limit: 200).bound,
            JournalStatements.deleteSignals(of: key).bound, RemovalStatements.remove(turn, id: reply).bound,
            RetentionStatements.expireRows(of: key, limit: 200, age: .seconds(1)).bound,
            SlotStatements.removeGone(of: key).bound, SlotStatements.removeRanks(of: key).bound,
            UsageStatements.removeWithdrawn(running).bound,
        ]
    }
}

extension BoundStatement {
    /// The name that the statement was given.
    var name: String {
        let bytes = statement.name.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: ".")) }
        return String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    var sql: String { statement.sql }

    /// The types of `$1`, `$2` …, as PREPARE names them.
    var typeNames: [String] {
        let all: [(ParameterType, String)] = [
            (.boolean, "boolean"), (.int8, "int8"), (.text, "text"), (.bytes, "bytea"), (.uuid, "uuid"),
            (.timestamp, "timestamptz"), (.int8Array, "int8[]"), (.textArray, "text[]"), (.uuidArray, "uuid[]"),
        ]
        return statement.types.map { oid in all.first { $0.0.oid == oid }?.1 ?? "unknown" }
    }
}
