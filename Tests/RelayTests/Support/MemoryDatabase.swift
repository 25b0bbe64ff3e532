import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport

/// The rows of the conversations, which several processes share.
final class MemoryDatabase: @unchecked Sendable {
    struct Row {
        var seq: Int64
        var turn: Int64?
        var message: ModelMessage
        var state: ReplyState?
        var id: ReplyID?
        var holder: Int?
        var thinking = ""

        /// Whether histories have the turn of a reply.
        var isReplayed: Bool {
            state == .complete
                || state != nil
                    && AnswerSteps.isAnswer(text: message.content.utf8.span, (message.extras ?? "").utf8.span)
        }
    }

    /// A reply with its journal.
    struct Reply {
        var turn: Turn
        var model: String
        var holder: Int
        var attempt = 1
        var adoptions = 0
        var options: [UInt8] = []
        var onInterrupt = InterruptPolicy.close
        /// The content in rows of the journal, or of the closed reply.
        var page = ReplyPage(start: ReplyPosition())
        /// The content in sheets, from the start, with that in rows.
        var saved = ReplyPage(start: ReplyPosition())
        /// The oldest generation of sheets that has needed content.
        var oldestSheet: Int32 = 0
        /// The steps so far.
        var steps: [UInt8] = []
        /// The answers to calls that wait for an approval.
        var approvals = ""
        /// The stored ending.
        var ending: ReplyEnding?

        /// Saves content on a sheet.
        mutating func save(_ content: ReplyPage, generation: Int32) {
            if saved.start.attempt != attempt {
                saved = ReplyPage(start: ReplyPosition(attempt: attempt))
            }
            if content.start == page.end || oldestSheet == 0 {
                oldestSheet = generation
            }
            guard content.end.total > saved.end.total else { return }
            saved.truncate(to: content.start)
            saved.append(content)
        }
    }

    /// The holder of replies that were handed over and not adopted yet.
    static let handedOver = -1

    /// The replies by their ids.
    var replies: [ReplyID: Reply] = [:]
    /// The provenance of the replies.
    var provenances: [ReplyID: ReplyProvenance] = [:]
    /// The signals to each process.
    var signals: [Int: [ReplySignal]] = [:]
    /// The tools that conversations keep.
    var tools: [ConversationKey: [UInt8]] = [:]
    /// The used idempotency keys, with their replies.
    var keys: [String: (digest: [UInt8], reply: ReplyID)] = [:]

    /// The rows of each conversation, in the order of `seq`.
    private(set) var conversations: [ConversationKey: [Row]] = [:]
    /// The generation of the sheets that are written now.
    var sheetGeneration: Int32 = 1
    /// The processes whose lease has expired.
    var dead: Set<Int> = []

    func rows(_ conversation: ConversationKey = "app") -> [Row] { conversations[conversation] ?? [] }

    /// `role: content`, and the state of replies.
    func transcript(_ conversation: ConversationKey = "app") -> [String] {
        rows(conversation).map { row in
            "\(row.message.role): \(row.message.content)" + (row.state.map { " [\($0.rawValue)]" } ?? "")
        }
    }

    func append(_ prompts: [ModelMessage], to conversation: ConversationKey, holder: Int?) -> Turn {
        let last = rows(conversation).last.map { max($0.seq, $0.turn ?? 0) } ?? 0
        let turn = last + Int64(prompts.count) + 1
        for (index, prompt) in prompts.enumerated() {
            insert(Row(seq: last + Int64(index) + 1, turn: turn, message: prompt, holder: holder), into: conversation)
        }
        return Turn(conversation: conversation, number: turn)
    }

    func replace(_ conversation: ConversationKey, with messages: [ModelMessage]) {
        let last = rows(conversation).last.map { max($0.seq, $0.turn ?? 0) } ?? 0
        conversations[conversation] = messages.enumerated().map { index, message in
            Row(seq: last + Int64(index) + 1, message: message)
        }
        replies = replies.filter { $0.value.turn.conversation != conversation }
    }

    /// Removes a conversation. The numbers of a later conversation with this name start at 1 again.
    func delete(_ conversation: ConversationKey) {
        conversations[conversation] = nil
        replies = replies.filter { $0.value.turn.conversation != conversation }
    }

    func reply(to turn: Turn) -> Row? { rows(turn.conversation).first { $0.seq == turn.number } }

    func prompt(of turn: Turn) -> Row? {
        rows(turn.conversation).first { $0.seq == turn.number - 1 && $0.turn == turn.number }
    }

    /// Closes a turn with the current text of its reply; without an id, with no text.
    func close(_ turn: Turn, as id: ReplyID?, _ state: ReplyState) {
        let page = id.flatMap { replies[$0]?.page } ?? ReplyPage(start: ReplyPosition())
        let message = ModelMessage(
            role: "assistant", content: String(decoding: page.text, as: UTF8.self),
            extras: page.toolCalls.isEmpty ? nil : "\"tool_calls\":[\(String(decoding: page.toolCalls, as: UTF8.self))]"
        )
        insert(
            Row(
                seq: turn.number, turn: turn.number, message: message, state: state, id: id,
                thinking: String(decoding: page.thinking, as: UTF8.self)), into: turn.conversation)
    }

    /// Closes a turn of a dead process with the journal of its reply.
    func settle(_ turn: Turn) {
        guard let id = replies.first(where: { $0.value.turn == turn })?.key else { return }
        if let reply = replies[id], reply.saved.start.attempt == reply.attempt,
            reply.saved.end.total > reply.page.end.total
        {
            replies[id]?.page = reply.saved
        }
        replies[id]?.ending = ReplyEnding(state: .interrupted, lastEvent: [])
        replies[id]?.holder = 0
        close(turn, as: id, .interrupted)
    }

    /// Whether the reply of a turn is regenerated after the death of its process.
    func isRegenerated(_ turn: Turn) -> Bool {
        replies.values.contains {
            $0.turn == turn && ($0.holder == Self.handedOver || $0.onInterrupt == .regenerate && $0.adoptions < 2)
        }
    }

    /// Restarts a reply, and discards its journal.
    func restart(_ id: ReplyID) {
        let attempt = (replies[id]?.attempt ?? 0) + 1
        replies[id]?.attempt = attempt
        replies[id]?.page = ReplyPage(start: ReplyPosition(attempt: attempt))
    }

    /// Removes the rows of a turn.
    func withdraw(_ turn: Turn) {
        conversations[turn.conversation]?.removeAll { $0.turn == turn.number }
    }

    /// Assigns a turn to another process.
    func assign(_ turn: Turn, holder: Int) {
        for index in rows(turn.conversation).indices where rows(turn.conversation)[index].turn == turn.number {
            conversations[turn.conversation]?[index].holder = holder
        }
    }

    private func insert(_ row: Row, into conversation: ConversationKey) {
        var rows = rows(conversation)
        rows.insert(row, at: rows.firstIndex { $0.seq > row.seq } ?? rows.count)
        conversations[conversation] = rows
    }

    /// The history of a turn; `nil` if its prompts are gone.
    func history(of turn: Turn, limit: Int) -> TurnHistory? {
        guard prompt(of: turn) != nil else { return nil }
        let before = rows(turn.conversation).filter { ($0.turn ?? $0.seq) <= turn.number }
        let replies = Dictionary(before.lazy.filter { $0.turn == $0.seq }.map { ($0.seq, $0) }) { $1 }
        var messages = EncodedConversation()
        var omitted: [PromptReport.Omitted] = []
        for row in before {
            guard let number = row.turn, number != turn.number, replies[number]?.isReplayed != true else {
                messages.append(row.message, seq: row.seq, turn: row.turn ?? 0)
                continue
            }
            omitted.append(number: row.seq, why: .notComplete)
        }
        let open = Set(before.compactMap(\.turn)).filter { replies[$0]?.state == nil && $0 != turn.number }.sorted()
        return TurnHistory(
            messages: messages, unfinished: open, isTooLarge: messages.json.count > limit, omitted: omitted)
    }
}

extension ReplyPage {
    /// Removes the content beyond a position.
    mutating func truncate(to position: ReplyPosition) {
        text = Array(text.prefix(position.text - start.text))
        thinking = Array(thinking.prefix(position.thinking - start.thinking))
        toolCalls = Array(toolCalls.prefix(position.toolCalls - start.toolCalls))
    }

    /// Appends the following page.
    mutating func append(_ page: ReplyPage) {
        text += page.text
        thinking += page.thinking
        toolCalls += page.toolCalls
    }

    /// The content from a position on.
    func suffix(from position: ReplyPosition) -> ReplyPage {
        var start = position
        start.isEnd = false
        return ReplyPage(
            start: start, text: Array(text.dropFirst(position.text - self.start.text)),
            thinking: Array(thinking.dropFirst(position.thinking - self.start.thinking)),
            toolCalls: Array(toolCalls.dropFirst(position.toolCalls - self.start.toolCalls)), ending: ending)
    }
}
