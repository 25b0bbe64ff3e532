import Bytes
import LanguageModels
import Relay

/// What several processes share: the rows of the conversations.
final class MemoryDatabase: @unchecked Sendable {
    struct Row {
        var seq: Int64
        var turn: Int64?
        var message: ModelMessage
        var state: ReplyState?
        var id: ReplyID?
        var holder: Int?
        var thinking = ""
    }

    /// The rows of each conversation, by place.
    private(set) var conversations: [String: [Row]] = [:]
    /// The processes whose lease has run out.
    var dead: Set<Int> = []

    func rows(_ appID: String = "app") -> [Row] { conversations[appID] ?? [] }

    /// `role: content`, and the state of replies.
    func transcript(_ appID: String = "app") -> [String] {
        rows(appID).map { row in
            "\(row.message.role): \(row.message.content)" + (row.state.map { " [\($0.rawValue)]" } ?? "")
        }
    }

    func append(_ prompts: [ModelMessage], to appID: String, holder: Int?) -> Turn {
        let last = rows(appID).last.map { max($0.seq, $0.turn ?? 0) } ?? 0
        let turn = last + Int64(prompts.count) + 1
        for (index, prompt) in prompts.enumerated() {
            insert(Row(seq: last + Int64(index) + 1, turn: turn, message: prompt, holder: holder), into: appID)
        }
        return Turn(appID: appID, number: turn)
    }

    func replace(_ appID: String, with messages: [ModelMessage]) {
        let last = rows(appID).last.map { max($0.seq, $0.turn ?? 0) } ?? 0
        conversations[appID] = messages.enumerated().map { index, message in
            Row(seq: last + Int64(index) + 1, message: message)
        }
    }

    func reply(to turn: Turn) -> Row? { rows(turn.appID).first { $0.seq == turn.number } }

    func prompt(of turn: Turn) -> Row? {
        rows(turn.appID).first { $0.seq == turn.number - 1 && $0.turn == turn.number }
    }

    func close(_ turn: Turn, with reply: ClosingReply?) {
        let message = ModelMessage(
            role: "assistant", content: String(decoding: reply?.text ?? [], as: UTF8.self),
            extras: reply.flatMap {
                $0.toolCalls.isEmpty ? nil : "\"tool_calls\":[\(String(decoding: $0.toolCalls, as: UTF8.self))]"
            })
        insert(
            Row(
                seq: turn.number, turn: turn.number, message: message, state: reply?.ending.state ?? .interrupted,
                id: reply?.id, thinking: String(decoding: reply?.thinking ?? [], as: UTF8.self)), into: turn.appID)
    }

    func mark(_ turn: Turn, _ state: ReplyState) {
        guard let index = rows(turn.appID).firstIndex(where: { $0.seq == turn.number }) else { return }
        conversations[turn.appID]?[index].state = state
    }

    private func insert(_ row: Row, into appID: String) {
        var rows = rows(appID)
        rows.insert(row, at: rows.firstIndex { $0.seq > row.seq } ?? rows.count)
        conversations[appID] = rows
    }

    /// What a turn has to go on; nothing when its prompts are gone.
    func history(of turn: Turn, limit: Int) -> TurnHistory? {
        guard prompt(of: turn) != nil else { return nil }
        let before = rows(turn.appID).filter { ($0.turn ?? $0.seq) <= turn.number }
        let states = Dictionary(
            before.compactMap { row in row.turn.map { ($0, row.seq == $0 ? row.state : nil) } },
            uniquingKeysWith: { $0 ?? $1 })
        var messages = EncodedMessages()
        for row in before {
            guard let number = row.turn, number != turn.number else {
                messages.append(row.message)
                continue
            }
            if states[number] == .complete {
                messages.append(row.message)
            }
        }
        let open = states.filter { $0.value == nil && $0.key != turn.number }.keys.sorted()
        return TurnHistory(messages: messages, unfinished: open, isTooLarge: messages.json.count > limit)
    }
}
