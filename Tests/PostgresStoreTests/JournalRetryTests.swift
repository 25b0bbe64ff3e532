import ChatterdBasics
import ChatterdChat
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore
@testable import ChatterdRelay

/// A batch of the journal that is repeated after its confirmation was lost.
@Suite(.timeLimit(.minutes(30))) struct JournalRetryTests {
    @Test(arguments: [true, false])
    func batchRepeatedAfterMoreThoughtsLeavesNoGap(isStored: Bool) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            var content = ReplyContent(attempt: 1)
            var text = String(repeating: "a", count: 70_000)
            var thinking = String(repeating: "京", count: 33_000)
            Self.say(text, thinking: thinking, to: &content)
            let batch = store.makeJournalBatch()
            let first = content.journal(as: opened.turn, opened.id, on: batch)
            if isStored {
                _ = try await store.journal([batch])
            }
            content.notJournalled(to: first)
            // A longer batch would be cut at another byte: between thoughts of three bytes each, one byte short of a full row.
            let (more, thoughts) = (String(repeating: "b", count: 10), String(repeating: "都", count: 27_000))
            Self.say(more, thinking: thoughts, to: &content)
            (text, thinking) = (text + more, thinking + thoughts)
            var rounds = 0
            while content.unjournalled > 0, rounds < 3 {
                batch.removeAll()
                let end = content.journal(as: opened.turn, opened.id, on: batch)
                #expect(try await store.journal([batch]).signals.isEmpty)
                content.journalled(to: end)
                rounds += 1
            }
            let rest = content.rest
            #expect(rest.isEmpty && rest.start == content.end)
            try await store.closeTurn(opened.turn, with: opened.closing(behind: rest.start))
            #expect(
                try await processes.sql("SELECT message, thinking FROM chatts WHERE turn = seq") == [[text, thinking]])
        }
    }

    private static func say(_ text: String, thinking: String, to content: inout ReplyContent) {
        var line = ByteBuffer()
        line.append("{\"message\":{\"role\":\"assistant\",\"content\":")
        line.append(jsonString: text)
        line.append(",\"thinking\":")
        line.append(jsonString: thinking)
        line.append("},\"done\":false}")
        guard let fields = try? AnswerLine(line.bytes) else {
            Issue.record("not a line")
            return
        }
        var ends = InlineArray<64, Int>(repeating: 0)
        content.append(LineRun(line: line.bytes, fields: fields), textEnds: &ends)
    }
}
