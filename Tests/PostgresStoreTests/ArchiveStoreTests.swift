import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgresStore

/// Pages, copies, exports and imports of conversations.
@Suite(.timeLimit(.minutes(30))) struct ArchiveStoreTests {
    private static let app = ConversationKey(Owner(app: "app"))

    private static func key(_ name: String, person: String? = nil) -> ConversationKey {
        ConversationKey(Owner(app: "app", person: person), name: name)
    }

    // MARK: - Pages

    @Test func pagesInBothDirectionsListEachMessageOnce() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                INSERT INTO chatts (appid, seq, name, message, state, after)
                SELECT 'app', n, 'user', 'm' || n, CASE WHEN n % 7 = 0 THEN 'choice' END, CASE WHEN n % 7 = 0 THEN n - 1 END
                FROM generate_series(1, 1166) AS n
                """)
            let archive = processes.archive()
            let all = (1...1_166).filter { $0 % 7 != 0 }
            #expect(all.count == 1_000)
            var seen: [Int] = []
            var page = try await archive.document(of: Self.app, .init(limit: 37))
            while true {
                #expect(page.seqs.count <= 37 && page.first == page.seqs.first && page.last == page.seqs.last)
                seen = page.seqs + seen
                guard page.moreBefore else { break }
                page = try await archive.document(
                    of: Self.app, .init(limit: 37, edge: .before(Int64(try #require(page.first)))))
                #expect(page.moreAfter)
            }
            #expect(seen == all)
            seen = []
            page = try await archive.document(of: Self.app, .init(limit: 200, edge: .after(0)))
            while true {
                seen += page.seqs
                guard page.moreAfter else { break }
                page = try await archive.document(
                    of: Self.app, .init(limit: 200, edge: .after(Int64(try #require(page.last)))))
                #expect(page.moreBefore)
            }
            #expect(seen == all)
        }
    }

    @Test func pageIsBoundedInBytesAndHasAMessage() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT 'app', n, 'user', repeat('x', CASE n WHEN 3 THEN 3000000 ELSE 400000 END) FROM generate_series(1, 6) AS n
                """)
            let archive = processes.archive()
            let page = { (edge: ConversationPage.Window.Edge) async throws in
                try await archive.document(of: Self.app, .init(edge: edge)).seqs
            }
            #expect(try await page(.end) == [5, 6])
            #expect(try await page(.before(5)) == [4])
            #expect(try await page(.before(4)) == [3])
            #expect(try await page(.before(3)) == [1, 2])
            #expect(try await page(.after(0)) == [1, 2])
            #expect(try await page(.after(2)) == [3])
            #expect(try await page(.after(6)).isEmpty)
        }
    }

    @Test func pageThatDoesNotFitTheMemoryIsRefused() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                "INSERT INTO chatts (appid, seq, name, message) VALUES ('app', 1, 'user', repeat('x', 3000000))")
            let archive = processes.archive(memory: MemoryBudget(limit: 4 << 20))
            #expect(await relayCode { _ = try await archive.document(of: Self.app) } == .overloaded)
            #expect(await relayCode { _ = try await archive.exported(Self.app) } == .overloaded)
        }
    }

    @Test func messagesShowTheirBranch() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let archive = processes.archive()
            let first = try await store.exchange("a", "1")  // 1, 2
            try await store.exchange("b", "2")  // 3, 4
            let other = try await store.exchange("c", "3", parent: .reply(first.id))  // 5, 6
            try await store.exchange("d", "4", parent: .start)  // 7, 8
            #expect(try await archive.document(of: Self.app).active == [7, 8])
            try await store.choose(try await store.record(other))  // 9
            var page = try await archive.document(of: Self.app)
            #expect(page.active == [1, 2, 5, 6])
            #expect(page.message(5)?["parent"] as? String == first.id.description)
            #expect(page.message(5)?["after"] as? Int == 2)
            #expect(page.message(7)?["parent"] is NSNull && page.message(7)?["after"] as? Int == 0)
            #expect(page.message(3)?.keys.contains("parent") == false)
            try await store.exchange("e", "5")  // 10, 11
            page = try await archive.document(of: Self.app)
            #expect(page.active == [1, 2, 5, 6, 10, 11])
            // It follows the choice above it, and so the chosen reply.
            #expect(page.message(10)?["parent"] as? String == other.id.description)
            // The branch of a page needs no later rows of it.
            #expect(try await archive.document(of: Self.app, .init(limit: 3, edge: .before(5))).active == [2])
            let reply = try await store.openAlternative(
                to: try await store.record(first), as: .random(), model: nil, onInterrupt: .close)
            page = try await archive.document(of: Self.app)
            #expect(page.active == [1, 12])
            #expect(page.message(12)?["state"] as? String == "streaming" && page.message(12)?["after"] as? Int == 1)
            #expect(page.message(12)?["id"] as? String == reply.id.description)
        }
    }

    @Test func missingConversationHasNoPage() async throws {
        try await StoreProcesses.run { processes in
            let archive = processes.archive()
            #expect(await relayCode { _ = try await archive.document(of: Self.app) } == .conversationNotFound)
            #expect(await relayCode { _ = try await archive.exported(Self.app) } == .conversationNotFound)
            #expect(
                await relayCode { try await archive.fork(Self.app, at: nil, to: Self.key("x"), title: nil) }
                    == .conversationNotFound)
            try await processes.sql(
                "INSERT INTO chatterd_conversations (appid, owner, title) VALUES ('app', E'app\\x1f\\x1f', 'Empty')")
            let page = try await archive.document(of: Self.app)
            #expect(
                page.seqs.isEmpty && !page.moreBefore && !page.moreAfter && page.object["title"] as? String == "Empty")
        }
    }

    // MARK: - Copies

    @Test func copyHasTheTurnsWithAnAnswerOfItsBranch() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let archive = processes.archive()
            try await store.replaceConversation("app", with: [ModelMessage(role: "system", content: "s")])
            let first = try await store.exchange("a", "1")
            try await store.exchange("cut", "half", as: .failed)
            try await store.exchange("no", "", as: .failed)
            let second = try await store.exchange("b", "2")
            try await store.exchange("other", "3", parent: .reply(first.id))
            try await store.choose(try await store.record(second))
            try await store.exchange("c", "4")
            let running = try await store.open("d")
            let target = Self.key("copy")
            try await archive.fork(Self.app, at: nil, to: target, title: "Copy")
            #expect(
                try await store.open("x", in: target).said == [
                    "system s", "user a", "assistant 1", "user cut", "assistant half", "user b", "assistant 2",
                    "user c",
                    "assistant 4", "user x",
                ])
            let page = try await archive.document(of: target)
            #expect(page.seqs == Array(1...11) && page.active == page.seqs && page.object["title"] as? String == "Copy")
            let ids = page.messages.compactMap { $0["id"] as? String }.compactMap { ReplyID(parsing: $0) }
            #expect(ids.count == 5 && !ids.contains(first.id))
            // The last one is of the prompt of this test.
            #expect(ids.dropLast().allSatisfy { $0.partition == Partition(of: target.owner) })
            try await archive.fork(Self.app, at: first.id, to: Self.key("short"), title: nil)
            #expect(
                try await store.open("x", in: Self.key("short")).said == [
                    "system s", "user a", "assistant 1", "user x",
                ])
            #expect(
                await relayCode { try await archive.fork(Self.app, at: running.id, to: Self.key("r"), title: nil) }
                    == .replyNotComplete)
            #expect(
                await relayCode { try await archive.fork(Self.app, at: .random(), to: Self.key("r"), title: nil) }
                    == .replyNotFound)
            #expect(
                await relayCode { try await archive.fork(Self.app, at: first.id, to: target, title: nil) }
                    == .conversationExists)
            #expect(try await processes.rowCounts(of: Self.key("r")).isEmpty)
        }
    }

    @Test func replyOfAnotherConversationIsNoEndOfACopy() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("a", "1")
            let foreign = try await store.exchange("b", "2", in: "other")
            let archive = processes.archive()
            #expect(
                await relayCode { try await archive.fork(Self.app, at: foreign.id, to: Self.key("x"), title: nil) }
                    == .replyNotFound)
        }
    }

    @Test func copyOfAnAlternativeHasItsPrompt() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let first = try await store.exchange("a", "1")
            let again = try await store.openAlternative(
                to: try await store.record(first), as: .random(), model: nil, onInterrupt: .close)
            let other = StoredTurn(turn: again.turn, id: again.id, history: again.history)
            try await store.closeTurn(other.turn, with: other.closing("2", thinking: "hm", calls: "{\"f\":1}"))
            let archive = processes.archive()
            try await archive.fork(Self.app, at: other.id, to: Self.key("x"), title: nil)
            let page = try await archive.document(of: Self.key("x"))
            #expect(page.messages.map { $0["content"] as? String } == ["a", "2"])
            #expect(page.messages.last?["thinking"] as? String == "hm")
            #expect((page.messages.last?["tool_calls"] as? [Any])?.count == 1)
        }
    }

    @Test func copyIsBoundedLikeAConversation() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange(String(repeating: "x", count: 2_000), "1")
            let archive = processes.archive(conversationLimit: 2_000)
            #expect(
                await relayCode { try await archive.fork(Self.app, at: nil, to: Self.key("x"), title: nil) }
                    == .historyTooLarge)
            #expect(try await processes.rowCounts(of: Self.key("x")).isEmpty)
            try await processes.archive().fork(Self.app, at: nil, to: Self.key("x"), title: nil)
            // The size of the copy counts for later prompts.
            let total = try await processes.sql(
                "SELECT total FROM chatts WHERE appid = E'app\\x1f\\x1fx' AND state = 'complete'")
            #expect(Int(total[0][0]) ?? 0 > 2_000)
        }
    }

    // MARK: - Exports and imports

    @Test func exportImportsToTheSameBytes() async throws {
        try await StoreProcesses.run { processes in
            try await Self.fill(processes.first)
            let archive = processes.archive()
            let file = try await archive.exported(Self.app)
            let imported = try await archive.importFile(file, isPiece: false, into: Self.key("copy", person: "ada"))
            #expect(imported.isComplete && imported.isNew && imported.rows == file.count { $0 == 10 } - 2)
            let again = try await archive.exported(Self.key("copy", person: "ada"))
            #expect(Self.withoutNames(again) == Self.withoutNames(file))
            #expect(file != again)
            // The next prompt gets the same messages.
            let store = processes.first
            let said = try await store.open("x", in: Self.key("copy", person: "ada")).said
            #expect(said == (try await store.open("x").said))
            #expect(said.count > 3)
            // The replies have ids of their own, in the partition of their owner.
            let page = try await archive.document(of: Self.key("copy", person: "ada"))
            let ids = page.messages.compactMap { $0["id"] as? String }.compactMap { ReplyID(parsing: $0) }.dropLast()
            #expect(!ids.isEmpty)
            #expect(ids.allSatisfy { $0.partition == Partition(of: Owner(app: "app", person: "ada")) })
        }
    }

    @Test func piecesOfAFileAreStoredOneByOne() async throws {
        try await StoreProcesses.run { processes in
            try await Self.fill(processes.first)
            let archive = processes.archive()
            let file = try await archive.exported(Self.app)
            let lines = file.split(separator: 10).map { Array($0) + [10] }
            for cut in 1..<lines.count {
                let key = Self.key("cut \(cut)")
                let first = Array(lines[..<cut].joined())
                let rest = Array(lines[cut...].joined())
                #expect(
                    await relayCode { _ = try await archive.importFile(first, isPiece: false, into: key) }
                        == .invalidRequest)
                #expect(
                    await relayCode { _ = try await archive.importFile(rest, isPiece: true, into: key) }
                        == .conversationNotFound)
                #expect(try await !archive.importFile(first, isPiece: true, into: key).isComplete)
                // The header and the end alone may come again.
                let again = await relayCode { _ = try await archive.importFile(first, isPiece: true, into: key) }
                #expect(again == (cut == 1 ? nil : .conversationExists))
                #expect(try await archive.importFile(rest, isPiece: true, into: key).isComplete)
                let twice = await relayCode { _ = try await archive.importFile(rest, isPiece: true, into: key) }
                #expect(twice == (cut == lines.count - 1 ? nil : .invalidRequest))
                #expect(Self.withoutNames(try await archive.exported(key)) == Self.withoutNames(file))
            }
        }
    }

    @Test func rowsOfAnImportAreCountedAfterOtherChanges() async throws {
        try await StoreProcesses.run { processes in
            try await Self.fill(processes.first)
            let archive = processes.archive()
            let lines = try await archive.exported(Self.app).split(separator: 10).map { Array($0) + [10] }
            let key = Self.key("pieces")
            for (index, line) in lines.enumerated() {
                let imported = try await archive.importFile(line, isPiece: true, into: key)
                #expect(imported.rows == min(index, lines.count - 2))
                #expect(imported.isComplete == (index == lines.count - 1))
            }
            let empty: [UInt8] = [10]
            #expect(try await archive.importFile(empty, isPiece: true, into: key).rows == lines.count - 2)
            let exchange = try await processes.first.exchange("a", "1", in: key)
            #expect(try await archive.importFile(empty, isPiece: true, into: key).rows == lines.count)
            try await archive.remove(try await processes.first.record(exchange))
            #expect(try await archive.importFile(empty, isPiece: true, into: key).rows == lines.count - 2)
            // By hand.
            try await processes.sql(
                """
                DELETE FROM chatts WHERE (appid, seq) = (
                    SELECT appid, seq FROM chatts WHERE appid LIKE '%pieces' ORDER BY seq LIMIT 1)
                """)
            #expect(try await archive.importFile(empty, isPiece: true, into: key).rows == lines.count - 3)
        }
    }

    @Test func importNeverOverwrites() async throws {
        try await StoreProcesses.run { processes in
            try await Self.fill(processes.first)
            let archive = processes.archive()
            let file = try await archive.exported(Self.app)
            for isPiece in [false, true] {
                #expect(
                    await relayCode { _ = try await archive.importFile(file, isPiece: isPiece, into: Self.app) }
                        == .conversationExists)
            }
            #expect(try await archive.exported(Self.app) == file)
        }
    }

    @Test func damagedFileStoresNothing() async throws {
        try await StoreProcesses.run { processes in
            try await Self.fill(processes.first)
            let archive = processes.archive()
            var file = try await archive.exported(Self.app)
            file[file.count / 2] = 0xFF
            #expect(
                await relayCode { _ = try await archive.importFile(file, isPiece: false, into: Self.key("x")) }
                    == .invalidRequest)
            #expect(try await processes.rowCounts(of: Self.key("x")).isEmpty)
        }
    }

    @Test func onlyOneOfSeveralImportsWins() async throws {
        try await StoreProcesses.run { processes in
            try await Self.fill(processes.first)
            let archive = processes.archive()
            let file = try await archive.exported(Self.app)
            async let first = relayCode {
                _ = try await processes.archive().importFile(file, isPiece: false, into: Self.key("x"))
            }
            async let second = relayCode {
                _ = try await processes.archive().importFile(file, isPiece: false, into: Self.key("x"))
            }
            let codes = await [first, second]
            #expect(codes.contains(nil) && codes.contains(.conversationExists))
            #expect(Self.withoutNames(try await archive.exported(Self.key("x"))) == Self.withoutNames(file))
        }
    }

    @Test func importIsBoundedLikeAConversation() async throws {
        try await StoreProcesses.run { processes in
            try await Self.fill(processes.first)
            let file = try await processes.archive().exported(Self.app)
            let archive = processes.archive(conversationLimit: 1_000)
            #expect(
                await relayCode { _ = try await archive.importFile(file, isPiece: false, into: Self.key("x")) }
                    == .historyTooLarge)
        }
    }

    /// The export is the conversation as it was at its start.
    @Test func exportIsAPrefixOfTheConversation() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let archive = processes.archive()
            for number in 1...3 {
                // A page of the export each.
                try await store.exchange(String(repeating: "x", count: 600_000), "\(number)")
            }
            let running = try await store.open("r")
            var export = try await archive.export(Self.app)
            var lines: [String] = []
            try await archive.readPage(of: &export, into: &lines)
            #expect(!export.isAtEnd)
            try await store.closeTurn(running.turn, with: running.closing("late"))
            try await store.exchange("later", "4")
            while !export.isAtEnd {
                try await archive.readPage(of: &export, into: &lines)
            }
            #expect(lines.count == 8)
            #expect(lines.last?.contains("\"state\":\"interrupted\"") == true)
            #expect(!lines.joined().contains("late"))
        }
    }

    @Test(arguments: ["replaced", "deleted", "deleted and begun again"])
    func exportOfAChangedConversationFails(how: String) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let archive = processes.archive()
            for number in 1...3 {
                try await store.exchange(String(repeating: "x", count: 600_000), "\(number)")
            }
            var export = try await archive.export(Self.app)
            var lines: [String] = []
            try await archive.readPage(of: &export, into: &lines)
            if how == "replaced" {
                try await store.replaceConversation("app", with: [ModelMessage(role: "user", content: "x")])
            } else {
                try await store.deleteConversation("app")
            }
            if how == "deleted and begun again" {
                for number in 1...3 {
                    try await store.exchange("x", "\(number)")
                }
            }
            var export2 = export
            #expect(await relayCode { _ = try await archive.nextPage(of: &export2) } == .conversationReplaced)
        }
    }

    /// A conversation with branches, a choice, a gap, failed and running replies, images, tool calls and thinking.
    private static func fill(_ store: PostgresConversationStore) async throws {
        try await store.replaceConversation(
            "app",
            with: [
                ModelMessage(role: "system", content: "\u{1}\"\\\u{2028}é"),
                ModelMessage(role: "user", content: "", extras: #""images":["aGk="]"#),
            ])
        // The rows begin behind a gap.
        try await store.replaceConversation(
            "app",
            with: [
                ModelMessage(role: "system", content: "\u{1}\"\\\u{2028}é\u{1f600}"),
                ModelMessage(role: "user", content: "", extras: #""images":["aGk="],"tool_name":"f""#),
            ])
        let first = try await store.open("a", "b", options: #""seed":7,"format":{"type":"object"}"#)
        try await store.closeTurn(
            first.turn,
            with: first.closing(
                "1", thinking: "hm", calls: #"{"function":{"name":"f","arguments":{}}}"#,
                lastEvent: #"{"model":"m","message":{"role":"assistant","content":""},"done":true,"eval_count":3}"#))
        try await store.exchange("c", "2", parent: .reply(first.id))
        let other = try await store.openAlternative(
            to: try await store.record(first), as: .random(), model: "n", onInterrupt: .close)
        let alternative = StoredTurn(turn: other.turn, id: other.id, history: other.history)
        try await store.closeTurn(alternative.turn, with: alternative.closing("3"))
        let failed = try await store.open("no")
        try await store.closeTurn(
            failed.turn,
            with: failed.closing(
                "half", as: .failed,
                lastEvent:
                    #"{"error":"x","code":"upstream_error","retryable":true,"message":{"role":"assistant","content":"x"},"done":true}"#
            ))
        try await store.choose(try await store.record(first))
        try await store.exchange("d", "4")
        _ = try await store.open("running", parent: .reply(first.id))
        try await store.choose(try await store.record(alternative))
    }

    /// A file without the name in its header and without the ids of its replies.
    private static func withoutNames(_ file: [UInt8]) -> String {
        String(decoding: file, as: UTF8.self)
            .replacing(/"conversation":"[^"]*"/, with: "")
            .replacing(/"id":"[-0-9a-f]{36}"/, with: "")
    }
}

extension StoreProcesses {
    fileprivate func archive(
        conversationLimit: Int = 1 << 30, memory: MemoryBudget = MemoryBudget(limit: 1 << 30)
    ) -> ConversationArchive {
        ConversationArchive(pool: pool, readers: pool, conversationLimit: conversationLimit, memory: memory)
    }
}

/// A page as its client parses it.
private struct PageDocument {
    let object: [String: Any]

    var messages: [[String: Any]] { object["messages"] as? [[String: Any]] ?? [] }
    var seqs: [Int] { messages.compactMap { $0["seq"] as? Int } }
    var active: [Int] { messages.filter { $0["active"] as? Bool == true }.compactMap { $0["seq"] as? Int } }
    var first: Int? { object["first"] as? Int }
    var last: Int? { object["last"] as? Int }
    var moreBefore: Bool { object["more_before"] as? Bool == true }
    var moreAfter: Bool { object["more_after"] as? Bool == true }

    func message(_ seq: Int) -> [String: Any]? { messages.first { $0["seq"] as? Int == seq } }
}

extension ConversationArchive {
    fileprivate func document(
        of key: ConversationKey, _ window: ConversationPage.Window = .init()
    ) async throws -> PageDocument {
        let json = try await page(of: key, window).json
        return PageDocument(
            object: try #require(try JSONSerialization.jsonObject(with: Data(json.array)) as? [String: Any]))
    }

    /// All of an export.
    func exported(_ key: ConversationKey) async throws -> [UInt8] {
        var export = try await export(key)
        var file = ByteBuffer()
        file.append(export.header)
        var lines: [String] = []
        while !export.isAtEnd {
            try await readPage(of: &export, into: &lines)
        }
        file.append(Array(lines.joined().utf8))
        file.append(endOfFileWith: lines.count)
        return file.array
    }

    fileprivate func readPage(of export: inout ConversationExport, into lines: inout [String]) async throws {
        var page = try await nextPage(of: &export).rows
        while let line = page.nextLine() {
            lines.append(line.string)
        }
    }
}
