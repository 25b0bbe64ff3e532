import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Reading replies from any position to their end.
@Suite(.timeLimit(.minutes(30))) struct ReplyStoreTests {
    @Test func growingReplyIsReadInSteps() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            let record = try await other.record(opened)
            let page = try await other.readReply(record, from: ReplyPosition())
            #expect(page.isEmpty && page.ending == nil && page.start == ReplyPosition())
            _ = try await store.journal([opened.entry("ab")])
            let first = try await other.readReply(record, from: ReplyPosition())
            #expect(first.words == "ab" && first.ending == nil)
            _ = try await store.journal([opened.entry(from: first.end, "cd")])
            #expect(try await other.readReply(record, from: first.end).words == "cd")
            #expect(try await other.readReply(record, from: ReplyPosition(text: 1)).words == "bcd")
            // The position is behind the stored text: the reader got it from the process itself.
            let ahead = ReplyPosition(text: 9)
            let none = try await other.readReply(record, from: ahead)
            #expect(none.isEmpty && none.start == ahead)
            // The reply ends between two reads.
            try await store.closeTurn(opened.turn, with: opened.closing("ef", behind: ReplyPosition(text: 4)))
            let last = try await other.readReply(record, from: ReplyPosition(text: 3))
            #expect(last.words == "def")
            #expect(last.ending == ReplyEnding(state: .complete, lastEvent: Array("{\"done\":true}".utf8)))
            #expect(last.end == ReplyPosition(text: 6, isEnd: true))
            let end = try await other.readReply(record, from: last.end)
            #expect(end.isEmpty && end.ending != nil && end.start == ReplyPosition(text: 6))
        }
    }

    @Test func partsAreReadFromTheirOwnOffsets() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            let pieces = [
                opened.entry("", thinking: "hm "), opened.entry(from: ReplyPosition(thinking: 3), "one "),
                opened.entry(from: ReplyPosition(text: 4, thinking: 3), "", thinking: "ah "),
                opened.entry(from: ReplyPosition(text: 4, thinking: 6), "two", calls: "{}"),
            ]
            for piece in pieces {
                _ = try await store.journal([piece])
            }
            let record = try await store.record(opened)
            for (text, thinking, calls) in [(0, 0, 0), (0, 6, 0), (4, 0, 0), (7, 0, 2), (0, 3, 2), (2, 5, 0)] {
                let page = try await store.readReply(
                    record, from: ReplyPosition(text: text, thinking: thinking, toolCalls: calls))
                #expect(page.words == String("one two".dropFirst(text)))
                #expect(String(decoding: page.thinking, as: UTF8.self) == String("hm ah ".dropFirst(thinking)))
                #expect(String(decoding: page.toolCalls, as: UTF8.self) == String("{}".dropFirst(calls)))
            }
        }
    }

    @Test(arguments: [true, false])
    func unknownPositionYieldsThePageFromTheStart(isOver: Bool) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            let entry = opened.entry("aé", thinking: "ü", calls: "{},{}")
            _ = try await store.journal([entry])
            if isOver {
                try await store.closeTurn(opened.turn, with: opened.closing(behind: entry.page.end))
            }
            let record = try await store.record(opened)
            var wrong = [
                ReplyPosition(text: 2), ReplyPosition(text: 3, thinking: 1), ReplyPosition(toolCalls: 1),
                ReplyPosition(attempt: 2), ReplyPosition(attempt: 3, text: 900),
            ]
            if isOver {
                wrong += [ReplyPosition(text: 4), ReplyPosition(thinking: 3), ReplyPosition(toolCalls: 6)]
                wrong.append(ReplyPosition(text: .max / 4, thinking: .max / 4))
            }
            for position in wrong {
                let page = try await store.readReply(record, from: position)
                #expect(page.start == ReplyPosition(), "\(position)")
                #expect(page.words == "aé" && page.toolCalls == entry.page.toolCalls)
            }
            let second = try await store.readReply(record, from: ReplyPosition(text: 1, toolCalls: 2))
            #expect(second.words == "é" && second.toolCalls == Array(",{}".utf8))
        }
    }

    @Test(arguments: [true, false])
    func longReplyIsReadInPages(isOver: Bool) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            let text = String(repeating: "0123456789é京👋", count: 60_000)
            if isOver {
                try await store.closeTurn(opened.turn, with: opened.closing(text, thinking: text, calls: "{}"))
            } else {
                _ = try await store.journal([opened.entry(text, thinking: text, calls: "{}")])
            }
            let pages = try await store.readAll(try await store.record(opened))
            #expect(pages.allSatisfy { $0.end.total - $0.start.total <= 320 * 1024 })
            #expect(pages.map(\.words).joined() == text)
            #expect(pages.map { String(decoding: $0.thinking, as: UTF8.self) }.joined() == text)
            #expect(pages.map(\.toolCalls).joined().elementsEqual("{}".utf8))
            #expect((pages.last?.ending != nil) == isOver)
        }
    }

    @Test func deletedReplyIsNotFound() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.exchange("p", "q")
            let record = try await processes.first.record(opened)
            try await processes.first.replaceConversation("app", with: [])
            #expect(
                await relayCode { _ = try await processes.first.readReply(record, from: ReplyPosition()) }
                    == .replyNotFound)
        }
    }

    @Test func adoptedReplyRestarts() async throws {
        try await StoreProcesses.run(count: 3) { processes in
            let (dead, heir) = (processes.first, processes.second)
            try await dead.exchange("a", "1")
            let opened = try await dead.open("b", options: "\"seed\":1", onInterrupt: .regenerate)
            _ = try await dead.journal([opened.entry("half")])
            #expect(try await heir.adoptAbandoned(limit: 10, except: [], onClaim: { _, _ in }).isEmpty)
            try await processes.kill(dead, isNoticed: true)
            let adopted = try await heir.adoptAbandoned(limit: 10, except: [], onClaim: { _, _ in })
            let again = try #require(adopted.first)
            #expect(adopted.count == 1 && again.id == opened.id && again.turn == opened.turn && again.attempt == 2)
            #expect(again.model == "m" && String(decoding: again.options, as: UTF8.self) == "\"seed\":1")
            // The history is read when the reply starts, as a process may adopt many replies at once.
            #expect(again.history.isUnread)
            #expect(
                try await heir.history(of: again.turn, for: again.id).said == ["user a", "assistant 1", "user b"])
            #expect(try await processes.stores[2].adoptAbandoned(limit: 10, except: [], onClaim: { _, _ in }).isEmpty)
            #expect(try await heir.record(opened).isAbandoned == false)
            // Readers of the first attempt learn that it has ended.
            let page = try await heir.readReply(try await heir.record(opened), from: ReplyPosition(text: 4))
            #expect(page.isEmpty && page.start == ReplyPosition(attempt: 2))
            // The process was only paused, not dead.
            #expect(
                try await dead.journal([opened.entry(from: ReplyPosition(text: 4), "x")])
                    == [ReplySignal(id: opened.id, kind: .gone)])
            #expect(
                await relayCode {
                    try await dead.closeTurn(opened.turn, with: opened.closing("x", behind: ReplyPosition(text: 4)))
                } == .interrupted)
            let start = ReplyPosition(attempt: 2)
            _ = try await heir.journal([opened.entry(from: start, "whole")])
            try await heir.closeTurn(
                opened.turn, with: opened.closing("!", behind: ReplyPosition(attempt: 2, text: 5)))
            #expect(try await heir.readReply(try await heir.record(opened), from: start).words == "whole!")
            #expect(try await processes.rowCounts() == ["chatts": 4])
        }
    }

    @Test func replyIsAdoptedAtMostTwice() async throws {
        try await StoreProcesses.run(count: 4) { processes in
            let opened = try await processes.first.open("p", onInterrupt: .regenerate)
            for attempt in 2...3 {
                try await processes.kill(processes.stores[attempt - 2], isNoticed: true)
                let adopted = try await processes.stores[attempt - 1].adoptAbandoned(
                    limit: 1, except: [], onClaim: { _, _ in })
                #expect(adopted.map(\.attempt) == [attempt])
            }
            try await processes.kill(processes.stores[2], isNoticed: true)
            #expect(try await processes.stores[3].adoptAbandoned(limit: 1, except: [], onClaim: { _, _ in }).isEmpty)
            #expect(
                try await processes.stores[3].settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
        }
    }

    @Test func restartByFailoverDoesNotCountAsAdoption() async throws {
        try await StoreProcesses.run(count: 4) { processes in
            let opened = try await processes.first.open("p", onInterrupt: .regenerate)
            var attempt = 1
            for heir in 0..<3 {
                let store = processes.stores[heir]
                if heir > 0 {
                    attempt += 1
                    let adopted = try await store.adoptAbandoned(limit: 1, except: [], onClaim: { _, _ in })
                    #expect(adopted.map(\.attempt) == [attempt])
                }
                for _ in 0..<3 {
                    attempt += 1
                    #expect(try await store.restartTurn(opened.turn, id: opened.id, attempt: attempt - 1) == attempt)
                }
                try await processes.kill(store, isNoticed: true)
            }
            #expect(try await processes.stores[3].adoptAbandoned(limit: 1, except: [], onClaim: { _, _ in }).isEmpty)
            #expect(
                try await processes.stores[3].settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
        }
    }

    @Test func stoppedReplyIsNotRegenerated() async throws {
        try await StoreProcesses.run { processes in
            let (dead, heir) = (processes.first, processes.second)
            for conversation: ConversationKey in ["stopped", "too", "read"] {
                let opened = try await dead.open("p", in: conversation, onInterrupt: .regenerate)
                try await heir.signal(conversation == "read" ? .read : .stop, to: try await heir.record(opened))
            }
            try await processes.kill(dead, isNoticed: true)
            #expect(
                try await heir.settleTurn(
                    Turn(conversation: "too", number: 2), isAbandonedHere: false, closesRegenerated: false))
            #expect(
                try await heir.adoptAbandoned(limit: 9, except: [], onClaim: { _, _ in }).map(\.turn.conversation) == [
                    "read"
                ])
            _ = try await processes.pool.run(
                SettlementStatements.settleAbandoned(limit: 9))
            #expect(
                try await processes.sql("SELECT appid, state FROM chatts WHERE turn = seq ORDER BY 1")
                    == [["read", "streaming"], ["stopped", "interrupted"], ["too", "interrupted"]])
        }
    }

    @Test func waitingPromptLeavesTheReplyToItsAdopter() async throws {
        try await StoreProcesses.run(count: 3) { processes in
            let (dead, heir, other) = (processes.first, processes.second, processes.stores[2])
            let opened = try await dead.open("p", onInterrupt: .regenerate)
            let unwanted = try await dead.open("p", in: "unwanted", onInterrupt: .regenerate)
            try await processes.kill(dead, isNoticed: true)
            #expect(try await !other.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false))
            #expect(try await other.settleTurn(unwanted.turn, isAbandonedHere: false, closesRegenerated: true))
            try await processes.sql("UPDATE chatts SET attempt = 2 WHERE turn = seq")
            let claims = Lock<[ReplyID]>([])
            let adopted = try await heir.adoptAbandoned(limit: 9, except: []) { _, id in
                claims.withLock { $0.append(id) }
            }
            #expect(adopted.map(\.attempt) == [3] && claims.withLock { $0 } == [opened.id])
            // The adoption is committed, but its process does not know yet.
            #expect(try await !heir.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false))
            try await heir.closeTurn(
                opened.turn, with: opened.closing("q", behind: ReplyPosition(attempt: 3)))
        }
    }
}
