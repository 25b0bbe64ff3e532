import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgresStore
@testable import ChatterdServer

/// The process that may close a reply, and the text that it may store.
@Suite(.timeLimit(.minutes(30))) struct CloseStoreTests {
    @Test func endedAttemptCannotCloseTheReply() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("old")])
            #expect(try await store.restartTurn(opened.turn, id: opened.id, attempt: 1) == 2)
            let second = ReplyPosition(attempt: 2)
            _ = try await store.journal([opened.entry(from: second, "new")])
            for behind in [ReplyPosition(), ReplyPosition(text: 3), ReplyPosition(attempt: 3)] {
                #expect(
                    await relayCode {
                        try await store.closeTurn(opened.turn, with: opened.closing("x", behind: behind))
                    } == .interrupted)
            }
            #expect(try await store.record(opened).state == nil)
            try await store.closeTurn(
                opened.turn, with: opened.closing("!", behind: ReplyPosition(attempt: 2, text: 3)))
            #expect(try await processes.sql("SELECT message FROM chatts WHERE turn = seq") == [["new!"]])
            // The last events are equal, but the ends are not the same.
            #expect(
                await relayCode { try await store.closeTurn(opened.turn, with: opened.closing("x")) } == .interrupted)
        }
    }

    @Test func endByAnotherProcessDoesNotCountAsOwn() async throws {
        try await StoreProcesses.run { processes in
            let (zombie, other) = (processes.first, processes.second)
            let opened = try await zombie.open("p")
            try await processes.kill(zombie)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            let closing = opened.closing("text", as: .interrupted, lastEvent: "")
            #expect(await relayCode { try await zombie.closeTurn(opened.turn, with: closing) } == .interrupted)
        }
    }

    @Test func releasedReplyRefusesItsFormerOwner() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("abc")])
            try await processes.sql(
                "UPDATE chatts SET holder = '00000000-0000-0000-0000-000000000000' WHERE turn = seq")
            for behind in [ReplyPosition(), ReplyPosition(text: 3)] {
                #expect(
                    await relayCode {
                        try await store.closeTurn(opened.turn, with: opened.closing("x", behind: behind))
                    } == .interrupted)
            }
            #expect(
                await relayCode { _ = try await store.restartTurn(opened.turn, id: opened.id, attempt: 1) }
                    == .interrupted)
            #expect(try await store.journal([opened.entry("abcd")]) == [ReplySignal(id: opened.id, kind: .gone)])
            #expect(
                try await processes.sql("SELECT state, attempt, message FROM chatts WHERE turn = seq")
                    == [["streaming", "1", ""]])
        }
    }

    @Test func repeatedRestartKeepsTheJournalOfTheNewAttempt() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            #expect(try await store.restartTurn(opened.turn, id: opened.id, attempt: 1) == 2)
            _ = try await store.journal([opened.entry(from: ReplyPosition(attempt: 2), "new")])
            // The confirmation was lost, or the statement was late.
            #expect(try await store.restartTurn(opened.turn, id: opened.id, attempt: 1) == 2)
            #expect(try await processes.rowCounts()["chatterd_journal"] == 1)
            #expect(
                await relayCode { _ = try await store.restartTurn(opened.turn, id: opened.id, attempt: 3) }
                    == .interrupted)
        }
    }

    @Test func batchOfAnEndedAttemptIsNotJournalled() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            _ = try await store.restartTurn(opened.turn, id: opened.id, attempt: 1)
            for attempt in [1, 3] {
                #expect(
                    try await store.journal([opened.entry(from: ReplyPosition(attempt: attempt), "late")])
                        == [ReplySignal(id: opened.id, kind: .gone)])
            }
            #expect(try await processes.rowCounts()["chatterd_journal"] == nil)
        }
    }

    @Test func processDoesNotAdoptItsOwnRunningReply() async throws {
        try await StoreProcesses.run(count: 2) { processes in
            let (dead, heir) = (processes.first, processes.second)
            let opened = try await dead.open("p", onInterrupt: .regenerate)
            try await processes.kill(dead, isNoticed: true)
            #expect(try await heir.adoptAbandoned(limit: 9, except: [.random(), opened.id]) { _, _ in }.isEmpty)
            #expect(try await heir.record(opened).attempt == 1)
            #expect(try await heir.adoptAbandoned(limit: 9, except: [.random()]) { _, _ in }.map(\.id) == [opened.id])
        }
    }

    /// Pieces of thoughts, text and calls, one of which is lost; the pieces before it are kept.
    @Test(arguments: 0..<6, [true, false])
    func textIsCutAtAGap(lost: Int, isOwner: Bool) async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            let parts = [
                ("", "hm ", ""), ("Grüße ", "", ""), ("a", "ah ", ""), ("東", "", "{}"), ("京", "", ""), ("!", "", ",{}"),
            ]
            var position = ReplyPosition()
            var starts: [Int] = []
            for (text, thinking, calls) in parts {
                let entry = opened.entry(from: position, text, thinking: thinking, calls: calls)
                starts.append(position.total)
                _ = try await store.journal([entry])
                position = entry.page.end
            }
            try await processes.sql("DELETE FROM chatterd_journal WHERE start = \(starts[lost])")
            if isOwner {
                #expect(
                    await relayCode {
                        try await store.closeTurn(opened.turn, with: opened.closing(" end", behind: position))
                    } == .interrupted)
            } else {
                #expect(try await store.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false))
            }
            let kept = parts[..<lost]
            let page = try await other.readReply(try await other.record(opened), from: ReplyPosition())
            #expect(page.words == kept.map(\.0).joined())
            #expect(String(decoding: page.thinking, as: UTF8.self) == kept.map(\.1).joined())
            #expect(String(decoding: page.toolCalls, as: UTF8.self) == kept.map(\.2).joined())
            let ending = try #require(page.ending)
            #expect(ending.state == .interrupted)
            // Only the owner can distinguish a loss at the very end from a journal that was not written yet.
            let isKnown = isOwner || lost < parts.count - 1
            let event = try JSONSerialization.jsonObject(
                with: Data(ending.lastEvent.isEmpty ? Array("{}".utf8) : ending.lastEvent))
            #expect((event as? [String: Any])?["code"] as? String == (isKnown ? "text_lost" : nil))
            #expect(try await processes.rowCounts() == ["chatts": 2])
            // A repeated close has no effect.
            #expect(
                await relayCode {
                    try await store.closeTurn(opened.turn, with: opened.closing(" end", behind: position))
                } == .interrupted)
        }
    }

    /// Three pieces of the text, of the thoughts, or of the calls; the second or the third is lost.
    @Test(arguments: 0..<3, [(1, true), (1, false), (2, true)])
    func gapInOnePartIsDetected(part: Int, loss: (piece: Int, isOwner: Bool)) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            var position = ReplyPosition()
            for piece in ["{}", ",{}", ",{}"] {
                let entry = opened.entry(
                    from: position, part == 0 ? piece : "", thinking: part == 1 ? piece : "",
                    calls: part == 2 ? piece : ""
                )
                _ = try await store.journal([entry])
                position = entry.page.end
            }
            try await processes.sql("DELETE FROM chatterd_journal WHERE start = \(loss.piece == 1 ? 2 : 5)")
            if loss.isOwner {
                let closing = opened.closing("", behind: position)
                #expect(await relayCode { try await store.closeTurn(opened.turn, with: closing) } == .interrupted)
            } else {
                #expect(try await store.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false))
            }
            let page = try await store.readReply(try await store.record(opened), from: ReplyPosition())
            let parts = [page.text, page.thinking, page.toolCalls].map { String(decoding: $0, as: UTF8.self) }
            #expect(parts == (0..<3).map { $0 == part ? (loss.piece == 1 ? "{}" : "{},{}") : "" })
            let ending = try #require(page.ending)
            #expect(ending.state == .interrupted && ending.error == .textLost)
        }
    }

    @Test func eventOfLostTextHasTheFormatOfErrors() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            try await processes.sql("UPDATE chatts SET model = 'a\"b\\c' WHERE turn = seq")
            _ = try await store.journal([opened.entry(from: ReplyPosition(text: 9), "x")])
            #expect(try await store.settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: false))
            let page = try await store.readReply(try await store.record(opened), from: ReplyPosition())
            let ending = try #require(page.ending)
            let found = try JSONSerialization.jsonObject(with: Data(ending.lastEvent)) as? [String: Any] ?? [:]
            var usual = ByteBuffer()
            ReplyEvents(model: "a\"b\\c").appendError(.textLost, at: 0, to: &usual)
            let expected = try JSONSerialization.jsonObject(with: Data(usual.array)) as? [String: Any] ?? [:]
            #expect(Set(found.keys) == Set(expected.keys))
            for key in ["error", "code", "model"] {
                #expect(found[key] as? String == expected[key] as? String)
            }
            #expect(found["retryable"] as? Bool == true && found["done"] as? Bool == true)
            #expect(found["message"] as? [String: String] == expected["message"] as? [String: String])
            let time = try #require(found["created_at"] as? String)
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
            #expect(ending.error == .textLost)
        }
    }
}
