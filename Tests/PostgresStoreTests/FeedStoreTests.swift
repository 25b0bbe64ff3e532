import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// The feeds of conversations in the database.
@Suite(.timeLimit(.minutes(30))) struct FeedStoreTests {
    private static let key = ConversationKey(Owner(app: "app"))

    /// The reader, and the list of conversations of a process.
    private func parts(_ processes: StoreProcesses) -> (FeedReader, ConversationCatalogue) {
        (FeedReader(pool: processes.pool), ConversationCatalogue(pool: processes.pool, readers: processes.pool))
    }

    /// Reads all events behind a position. No page may have another step.
    private func events(_ reader: FeedReader, after start: FeedPosition) async throws -> [FeedEvent] {
        var (position, all) = (start, [FeedEvent]())
        while true {
            let page = try await reader.page(of: Self.key, after: position, isOpen: true)
            try #require(page.step == .events)
            all += page.events
            position = try #require(page.position)
            guard page.hasMore else { return all }
        }
    }

    private func names(_ events: [FeedEvent]) -> [String] {
        events.map { event in
            switch event.change {
            case .prompt(let prompt): "prompt \(prompt.content.map { String(decoding: $0, as: UTF8.self) } ?? "-")"
            case .reply(_, let model, _): "reply \(model)"
            case .end(_, _, let state, _, _): "end \(state)"
            case .choice: "choice"
            case .settings(let title, let isArchived): "settings \(title ?? "-") \(isArchived)"
            }
        }
    }

    /// Makes one change of each kind in an existing conversation.
    private func change(_ processes: StoreProcesses, _ catalogue: ConversationCatalogue) async throws {
        let (store, other) = (processes.first, processes.second)
        let first = try await store.exchange("a", "1")
        let second = try await other.open("b", "c")
        _ = try await catalogue.change(Self.key, try changed(#"{"title":"T"}"#))
        _ = try await other.journal([second.entry("te")])
        try await other.closeTurn(second.turn, with: second.closing("xt", behind: ReplyPosition(text: 2)))
        let alternative = try await store.openAlternative(
            to: try await store.record(second), as: .random(), model: "n", onInterrupt: .close)
        _ = try await catalogue.change(Self.key, try changed(#"{"archived":true}"#))
        _ = try await store.settleTurn(alternative.turn, isAbandonedHere: true, closesRegenerated: true)
        try await store.choose(try await store.record(first))
    }

    private let expected = [
        "prompt a", "reply m", "end complete", "prompt b", "prompt c", "reply m", "settings T false", "end complete",
        "reply n", "settings T true", "end interrupted", "choice",
    ]

    @Test func eachPositionGivesExactlyTheRest() async throws {
        try await StoreProcesses.run { processes in
            let (reader, catalogue) = parts(processes)
            try await processes.first.exchange("0", "0")
            let start = try await reader.page(of: Self.key, after: nil, isOpen: false)
            #expect(start.step == .start && start.state?.running == [] && start.state?.name == "app")
            try await change(processes, catalogue)
            let all = try await events(reader, after: try #require(start.position))
            #expect(names(all) == expected)
            // The reply was closed without a last event.
            #expect(all[10].data.string.hasSuffix(#""code":"interrupted","retryable":true}"#))
            let texts = all.map(\.position.text)
            #expect(Set(texts).count == texts.count)
            for (index, event) in all.enumerated() {
                let position = try #require(FeedPosition(parsing: event.position.text))
                let rest = try await events(reader, after: position)
                #expect(rest.map(\.position.text) == Array(texts[(index + 1)...]))
                #expect(names(rest) == Array(expected[(index + 1)...]))
            }
        }
    }

    @Test func readersThatPollAtAnyTimeGetTheSameEvents() async throws {
        try await StoreProcesses.run { processes in
            let (reader, catalogue) = parts(processes)
            try await processes.first.exchange("0", "0")
            let start = try #require(try await reader.page(of: Self.key, after: nil, isOpen: false).position)
            async let fast = follow(reader, from: start)
            async let slow = follow(reader, from: start)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        try await processes.stores[index % 2].exchange("p\(index)", "a")
                        _ = try await ConversationCatalogue(pool: processes.pool, readers: processes.pool).change(
                            Self.key, try changed(#"{"title":"t\#(index)"}"#))
                    }
                }
                try await group.waitForAll()
            }
            _ = try await catalogue.change(Self.key, try changed(#"{"title":"last"}"#))
            let (one, two) = try await (fast, slow)
            #expect(one == two && one.count == 81)
            let stored = try await events(reader, after: start)
            #expect(stored.map(\.position.text) == one)
        }
    }

    private func follow(_ reader: FeedReader, from start: FeedPosition) async throws -> [String] {
        var (position, texts) = (start, [String]())
        while true {
            let page = try await reader.page(of: Self.key, after: position, isOpen: true)
            try #require(page.step == .events)
            position = try #require(page.position)
            texts += page.events.map(\.position.text)
            if names(page.events).contains("settings last false") { return texts }
        }
    }

    @Test func pageHasALimitOfEventsAndOfBytes() async throws {
        try await StoreProcesses.run { processes in
            let (reader, _) = parts(processes)
            try await processes.first.exchange("0", "0")
            let start = try #require(try await reader.page(of: Self.key, after: nil, isOpen: false).position)
            for index in 0..<40 {
                try await processes.first.exchange("\(index)", "a")
            }
            let full = try await reader.page(of: Self.key, after: start, isOpen: true)
            #expect(full.events.count == FeedReader.pageEvents && full.hasMore)
            #expect(try await events(reader, after: start).count == 120)

            let end = try #require(try await reader.page(of: Self.key, after: nil, isOpen: false).position)
            let long = String(repeating: "x", count: FeedEvent.textLimit)
            for text in [long, long, long, long, long + "x"] {
                try await processes.first.exchange(text, "a")
            }
            let first = try await reader.page(of: Self.key, after: end, isOpen: true)
            #expect(first.hasMore && first.events.count < 12)
            let all = try await events(reader, after: end)
            #expect(names(all).filter { $0 == "prompt \(long)" }.count == 4)
            #expect(names(all).filter { $0 == "prompt -" }.count == 1)
        }
    }

    @Test func changeThatCannotBeReplayedStartsFeedsOver() async throws {
        try await StoreProcesses.run { processes in
            let (reader, catalogue) = parts(processes)
            let store = processes.first
            func step(_ change: () async throws -> Void) async throws -> FeedStep {
                let position = try #require(try await reader.page(of: Self.key, after: nil, isOpen: false).position)
                try await change()
                let page = try await reader.page(of: Self.key, after: position, isOpen: true)
                if page.step != .deleted {
                    let next = try await reader.page(of: Self.key, after: page.position, isOpen: true)
                    #expect(next.step == .events && next.events.isEmpty)
                }
                return page.step
            }
            try await store.exchange("a", "1")
            #expect(
                try await step {
                    try await store.replaceConversation(
                        "app", with: [ModelMessage(role: "system", content: "s")])
                } == .reset(.replaced))
            #expect(
                try await step {
                    let opened = try await store.open("b")
                    _ = try await store.withdraw(opened.id, in: "app")
                } == .reset(.replaced))
            #expect(
                try await step {
                    for index in 0...FeedReader.loggedChanges {
                        _ = try await catalogue.change(Self.key, try changed(#"{"title":"\#(index)"}"#))
                    }
                } == .reset(.replaced))
            let count = try await processes.sql("SELECT count(*) FROM chatterd_changes")
            #expect(count == [["\(FeedReader.loggedChanges)"]])
            #expect(try await step { try await store.deleteConversation("app") } == .deleted)
            #expect(try await processes.rowCounts().isEmpty)
        }
    }

    @Test func conversationOfTheSameNameIsAnotherOne() async throws {
        try await StoreProcesses.run { processes in
            let (reader, _) = parts(processes)
            try await processes.first.exchange("a", "1")
            let old = try #require(try await reader.page(of: Self.key, after: nil, isOpen: false).position)
            try await processes.first.deleteConversation("app")
            try await processes.first.exchange("b", "2")
            #expect(try await reader.page(of: Self.key, after: old, isOpen: true).step == .deleted)
            let again = try await reader.page(of: Self.key, after: old, isOpen: false)
            #expect(again.step == .reset(.unknown) && again.state?.position == again.position)
            let heads = try await reader.heads(of: ["app", "none"])
            #expect(heads.count == 1 && heads["app"]?.epoch == again.position?.epoch)
            #expect(heads["app"]?.revision == 2)
        }
    }

    @Test func stateHasTheRunningReplies() async throws {
        try await StoreProcesses.run { processes in
            let (reader, _) = parts(processes)
            let opened = try await processes.first.open("a")
            let page = try await reader.page(of: Self.key, after: nil, isOpen: false)
            #expect(page.state?.running == [opened.id])
            try await processes.first.closeTurn(opened.turn, with: opened.closing("1"))
            let rest = try await events(reader, after: try #require(page.position))
            #expect(names(rest) == ["end complete"])
        }
    }

    /// A process of an earlier version has no row of the conversation and no revisions.
    @Test func conversationOfAnEarlierVersionHasAFeed() async throws {
        try await StoreProcesses.run { processes in
            let (reader, _) = parts(processes)
            try await processes.first.exchange("a", "1")
            try await processes.sql(
                "DELETE FROM chatterd_conversations; UPDATE chatts SET opened = NULL, closed = NULL")
            let start = try await reader.page(of: Self.key, after: nil, isOpen: false)
            #expect(start.step == .start && start.position?.epoch == 0)
            #expect(try await events(reader, after: try #require(start.position)).isEmpty)
            #expect(try await reader.heads(of: ["app"]).count == 1)
            try await processes.first.exchange("b", "2")
            let next = try await reader.page(of: Self.key, after: start.position, isOpen: true)
            #expect(next.step == .reset(.unknown))
        }
    }

    @Test func titleThatIsMadeDoesNotReplaceAnother() async throws {
        try await StoreProcesses.run { processes in
            let (reader, catalogue) = parts(processes)
            try await processes.first.exchange("a", "1")
            let start = try #require(try await reader.page(of: Self.key, after: nil, isOpen: false).position)
            #expect(try await catalogue.setTitle("made", of: Self.key).title == "made")
            #expect(try await catalogue.setTitle("later", of: Self.key).title == "made")
            #expect(names(try await events(reader, after: start)) == ["settings made false"])
            let missing = ConversationKey(Owner(app: "none"))
            #expect(await relayCode { _ = try await catalogue.setTitle("t", of: missing) } == .conversationNotFound)
        }
    }

    @Test func importedRowsStartFeedsOver() async throws {
        try await StoreProcesses.run { processes in
            let (reader, catalogue) = parts(processes)
            _ = try await catalogue.create(Self.key, title: nil, messages: [])
            let start = try #require(try await reader.page(of: Self.key, after: nil, isOpen: false).position)
            try await processes.first.exchange("a", "1", in: "source")
            let archive = ConversationArchive(
                pool: processes.pool, readers: processes.pool, conversationLimit: 1 << 20,
                memory: MemoryBudget(limit: 1 << 30))
            let file = try await archive.exported(ConversationKey(Owner(app: "source")))
            _ = try await archive.importFile(file, isPiece: true, into: Self.key)
            let next = try await reader.page(of: Self.key, after: start, isOpen: true)
            #expect(next.step == .reset(.replaced) && next.position?.epoch == start.epoch)
            try await processes.first.exchange("b", "2")
            #expect(
                names(try await events(reader, after: try #require(next.position))) == [
                    "prompt b", "reply m", "end complete",
                ])
        }
    }
}

/// A change in part, as a client sends it.
private func changed(_ json: String) throws -> ConversationChange {
    let bytes = Array(json.utf8)
    return try ConversationChange(decoding: bytes.span)
}
