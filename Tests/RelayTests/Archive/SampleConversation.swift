import ChatterdBasics
import ChatterdRelay

/// A conversation with rows of all kinds.
enum SampleConversation {
    static let header = ConversationHeader(
        name: "trip", title: "To \"Rome\"", createdAt: 1_795_171_166_491_288, updatedAt: 1_795_171_166_491_289,
        metadata: bytes(#""topic":"demo","a\"b":"""#))

    static let time: Int64 = 1_795_171_166_491_288

    static var rows: [ConversationRow] {
        [
            ConversationRow(seq: 1, kind: .message, time: time, role: bytes("system"), content: bytes("Be brief.\n")),
            ConversationRow(
                seq: 2, kind: .prompt(turn: 3), time: time, role: bytes("user"), content: bytes("one"),
                extras: bytes(#""images":["aGk="]"#)),
            ConversationRow(
                seq: 3, kind: .reply(reply("8a3c1f52-6a0e-8c43-a1ce-6f0be9c7d3f1")), time: time,
                role: bytes("assistant"),
                content: bytes("a1"), thinking: bytes("hm\u{1f600}"),
                extras: bytes(#""tool_calls":[{"function":{"name":"f","arguments":{}}}]"#)),
            ConversationRow(
                seq: 6, kind: .reply(.init(id: ReplyID(high: 1, low: 2), model: "m", state: .failed)), after: 2,
                time: time,
                role: bytes("assistant")),
            ConversationRow(seq: 7, kind: .choice, after: 3, time: time),
            ConversationRow(seq: 8, kind: .prompt(turn: 9), time: time, role: bytes("user"), content: bytes("two")),
        ]
    }

    private static func reply(_ id: String) -> ConversationRow.Reply {
        ConversationRow.Reply(
            id: ReplyID(parsing: id) ?? ReplyID(high: 0, low: 0), model: "tiny", state: .complete, attempt: 2,
            options: bytes(#""seed":7,"options":{"num_ctx":4096}"#),
            lastEvent: bytes(
                #"{"model":"tiny","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":3}"#
            ),
            provenance: bytes(#""parts":[{"upstream":"gpu"}],"receipt":{"messages":1}"#), finishedAt: time + 1)
    }

    static func file(of rows: [ConversationRow] = rows) -> [UInt8] {
        var file = ByteBuffer()
        file.append(header)
        var above: Int64 = 0
        for row in rows {
            file.append(row, below: above)
            above = row.seq
        }
        file.append(endOfFileWith: rows.count)
        return file.array
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
}
