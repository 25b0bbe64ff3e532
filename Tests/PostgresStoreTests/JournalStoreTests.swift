import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The journal of running replies, and its use when they end.
@Suite(.timeLimit(.minutes(30))) struct JournalStoreTests {
    @Test func replyIsItsJournalAndTheRest() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            var position = ReplyPosition()
            for piece in ["Grüße", " aus", " 東京", "👋"] {
                let entry = opened.entry(
                    from: position, piece, thinking: "\(piece)?", calls: position.total == 0 ? "{}" : ",{}")
                #expect(try await store.journal([entry]).isEmpty)
                position = entry.page.end
            }
            try await store.closeTurn(
                opened.turn, with: opened.closing("!", thinking: ".", calls: ",{\"a\":1}", behind: position))
            let row = try await processes.sql(
                "SELECT message, thinking, extras, state, last_event, finished IS NOT NULL FROM chatts WHERE turn = seq"
            )
            #expect(
                row == [
                    [
                        "Grüße aus 東京👋!", "Grüße? aus? 東京?👋?.", "\"tool_calls\":[{},{},{},{},{\"a\":1}]", "complete",
                        "{\"done\":true}", "t",
                    ]
                ])
            #expect(try await processes.rowCounts() == ["chatts": 2])
            // The confirmation was lost.
            let again = opened.closing("!", thinking: ".", calls: ",{\"a\":1}", behind: position)
            try await store.closeTurn(opened.turn, with: again)
            // Only the first one counts.
            for other in [opened.closing("!", as: .failed, behind: position), opened.closing("!", lastEvent: "{}")] {
                #expect(await relayCode { try await store.closeTurn(opened.turn, with: other) } == .interrupted)
            }
            #expect(
                try await processes.sql("SELECT message, state, last_event FROM chatts WHERE turn = seq")
                    == [["Grüße aus 東京👋!", "complete", "{\"done\":true}"]])
        }
    }

    @Test func longerOfTwoPiecesAtOneStartCounts() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("abc")])
            _ = try await store.journal([opened.entry("abcdef")])
            _ = try await store.journal([opened.entry("abcd")])
            let end = ReplyPosition(text: 6)
            _ = try await store.journal([opened.entry(from: end, "ghi")])
            #expect(
                try await store.readAll(try await store.record(opened)).map(\.words).joined() == "abcdefghi")
            // The rest has the text that was not confirmed before the end.
            try await store.closeTurn(opened.turn, with: opened.closing("ghij", behind: end))
            #expect(try await processes.sql("SELECT message FROM chatts WHERE turn = seq") == [["abcdefghij"]])
        }
    }

    @Test func piecesThatOverlapCountOnce() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("ab東", thinking: "x")])
            _ = try await store.journal([opened.entry(from: ReplyPosition(text: 2, thinking: 1), "東京c", thinking: "y")])
            #expect(try await other.readAll(try await other.record(opened)).map(\.words).joined() == "ab東京c")
            #expect(try await store.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false))
            #expect(
                try await processes.sql("SELECT message, thinking FROM chatts WHERE turn = seq") == [["ab東京c", "xy"]])
        }
    }

    @Test func pieceBehindAGapIsReadOnceTheGapIsFilled() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("abc")])
            _ = try await store.journal([opened.entry(from: ReplyPosition(text: 6), "ghi")])
            let record = try await other.record(opened)
            #expect(try await other.readAll(record).map(\.words).joined() == "abc")
            _ = try await store.journal([opened.entry(from: ReplyPosition(text: 3), "def")])
            #expect(try await other.readAll(record).map(\.words).joined() == "abcdefghi")
        }
    }

    @Test func longEntriesAreCutBetweenCharacters() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            let text = String(repeating: "a京👋", count: 30_000)
            let thinking = String(repeating: "é", count: 50_001)
            let entry = opened.entry(text, thinking: thinking, calls: "{}")
            _ = try await store.journal([entry])
            let sizes = try await processes.sql(
                """
                SELECT max(octet_length(text) + octet_length(thinking) + octet_length(calls)), count(*)
                FROM chatterd_journal
                """)
            #expect(Int(sizes[0][0]).map { $0 <= 64 * 1024 } == true && Int(sizes[0][1]) == 7)
            let pages = try await processes.second.readAll(try await store.record(opened))
            #expect(pages.map(\.words).joined() == text)
            #expect(pages.map { String(decoding: $0.thinking, as: UTF8.self) }.joined() == thinking)
            try await store.closeTurn(opened.turn, with: opened.closing("!", behind: entry.page.end))
            let stored = try await store.readAll(try await store.record(opened))
            #expect(stored.map(\.words).joined() == text + "!")
            #expect(stored.map { String(decoding: $0.thinking, as: UTF8.self) }.joined() == thinking)
            #expect(stored.flatMap(\.toolCalls) == Array("{}".utf8))
        }
    }

    @Test func longToolCallsAreNeverCut() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            let call = "{\"a\":\"\(String(repeating: "x", count: 50_000))\"}"
            let calls = Array(repeating: call, count: 8).joined(separator: ",")
            let entry = opened.entry("text", calls: calls)
            _ = try await store.journal([entry])
            let pages = try await processes.second.readAll(try await store.record(opened))
            #expect(pages.allSatisfy { $0.toolCalls.isEmpty || $0.toolCalls == Array(calls.utf8) })
            #expect(pages.map(\.words).joined() == "text" && pages.last?.end == entry.page.end)
        }
    }

    @Test func manyRepliesAreJournalledTogether() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            var opened: [StoredTurn] = []
            for index in 0..<200 {
                opened.append(try await store.open("p", in: "app\(index)"))
            }
            var entries = opened.map { $0.entry("text of \($0.turn.conversation.text)") }
            let stranger = StoredTurn(
                turn: Turn(conversation: "unknown", number: 2), id: .random(), history: opened[0].history)
            entries.insert(stranger.entry("x"), at: 100)
            #expect(try await store.journal(entries) == [ReplySignal(id: stranger.id, kind: .gone)])
            for opened in opened {
                let record = try await processes.second.record(opened)
                #expect(
                    try await processes.second.readReply(record, from: ReplyPosition()).words
                        == "text of \(opened.turn.conversation.text)")
            }
        }
    }

    @Test func emptyBatchReadsOnlySignals() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let noEntries: [JournalEntry] = []
            let opened = try await store.open("p")
            #expect(try await store.journal(noEntries).isEmpty)
            let record = try await other.record(opened)
            try await other.signal(.read, to: record)
            try await other.signal(.read, to: record)
            #expect(try await other.journal(noEntries).isEmpty)
            #expect(try await store.journal(noEntries) == [ReplySignal(id: opened.id, kind: .read)])
            #expect(try await store.journal(noEntries).isEmpty)
            try await other.signal(.stop, to: record)
            #expect(try await store.journal([opened.entry("x")]) == [ReplySignal(id: opened.id, kind: .stop)])
            #expect(try await store.journal(noEntries) == [ReplySignal(id: opened.id, kind: .stop)])
        }
    }

    @Test func closedReplyGetsNoSignals() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.exchange("p", "q")
            try await processes.second.signal(.stop, to: try await processes.second.record(opened))
            #expect(try await processes.rowCounts() == ["chatts": 2])
        }
    }

    @Test func writesOfAZombieAreRefused() async throws {
        try await StoreProcesses.run { processes in
            let (zombie, other) = (processes.first, processes.second)
            let opened = try await zombie.open("p")
            _ = try await zombie.journal([opened.entry("abc")])
            try await processes.kill(zombie)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            let end = ReplyPosition(text: 3)
            #expect(
                try await zombie.journal([opened.entry(from: end, "def")])
                    == [ReplySignal(id: opened.id, kind: .gone)])
            for position in [end, ReplyPosition()] {
                #expect(
                    await relayCode {
                        try await zombie.closeTurn(opened.turn, with: opened.closing("def", behind: position))
                    } == .interrupted)
            }
            #expect(
                try await processes.sql("SELECT message, state, holder FROM chatts WHERE turn = seq")
                    == [["abc", "interrupted", "<null>"]])
            #expect(try await processes.rowCounts() == ["chatts": 2])
        }
    }

    @Test func onlyOneOfTwoConcurrentSettlementsSucceeds() async throws {
        try await StoreProcesses.run(count: 9) { processes in
            let dead = processes.first
            let opened = try await dead.open("p")
            _ = try await dead.journal([opened.entry("abc")])
            try await processes.kill(dead)
            let settled = try await withThrowingTaskGroup(of: Bool.self) { group in
                for store in processes.stores.dropFirst() {
                    group.addTask {
                        try await store.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false)
                    }
                }
                group.addTask {
                    // The text is stored once, in either order.
                    await relayCode {
                        try await dead.closeTurn(
                            opened.turn, with: opened.closing("", behind: ReplyPosition(text: 3)))
                    } != .storeUnavailable
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(settled == Array(repeating: true, count: 9))
            #expect(try await processes.sql("SELECT message FROM chatts WHERE turn = seq") == [["abc"]])
            #expect(try await processes.rowCounts() == ["chatts": 2])
        }
    }
}
