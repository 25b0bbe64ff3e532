import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgresStore

/// Images of messages: each app has them once, and every reader gets the bytes that were sent.
@Suite(.timeLimit(.minutes(30))) struct AttachmentStoreTests {
    // MARK: - Storing

    /// 5.6 MB of messages are 2 KB of rows and one image.
    @Test(arguments: [0, 64 << 20])
    func imageOfManyTurnsIsStoredOnce(historyCache: Int) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore(historyCache: historyCache)
            let image = ImageMessages.image(1, size: 280_000)
            let person = ConversationKey(Owner(app: "app", person: "ada"), name: "trip")
            for conversation: ConversationKey in ["app", person] {
                var expected: [ModelMessage] = []
                for turn in 0..<20 {
                    expected.append(ImageMessages.message("look \(turn)", [image]))
                    let opened = try await store.open([expected[expected.count - 1]], in: conversation)
                    #expect(opened.history.messages.json.array == ImageMessages.json(expected))
                    try await store.closeTurn(opened.turn, with: opened.closing("I see."))
                    expected.append(ModelMessage(role: "assistant", content: "I see."))
                }
            }
            #expect(try await processes.attachments() == [["app", "280000"]])
            let rows = try await processes.sql(
                "SELECT sum(octet_length(message) + coalesce(octet_length(extras), 0)) FROM chatts WHERE appid = 'app'")
            #expect(Int(rows[0][0]) ?? .max < 2_500)
            // The size of a conversation is that of its messages.
            let total = try await processes.sql("SELECT max(total) FROM chatts WHERE appid = 'app'")
            #expect(Int(total[0][0]) ?? 0 > 20 * 280_000)
        }
    }

    /// The image of the last seeded message counts with its size, and not with that of the reference to it.
    @Test func seededImageCountsTowardsTheConversation() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let image = ImageMessages.image(1, size: 50_000)
            try await store.replaceConversation("app", with: [ImageMessages.message("look", [image])])
            _ = try await store.open([ModelMessage(role: "user", content: "Hi")])
            let total = try await processes.sql("SELECT max(total) FROM chatts WHERE appid = 'app'")
            #expect(Int(total[0][0]) ?? 0 > 50_000)
        }
    }

    @Test func memberTextsComeBackByteForByte() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let (one, two) = (ImageMessages.image(1, size: 2_000), ImageMessages.image(2, size: 20_000))
            let escaped = one.replacingOccurrences(of: "A", with: #"\/\u0041"#)
            let texts = [
                #""images":["\#(one)"]"#, #""images" : [ "\#(one)" , "\#(two)" ]"#,
                #""thinking":"\u0001 é","images":["\#(two)","aGk=","\#(two)","http://x/y.png"],"tool_name":"f""#,
                #""images":["\#(escaped)"],"tool_calls":[{"images":["\#(one)"]}]"#, #""images":[]"#,
                #""images":["\#(ImageMessages.image(3, size: Attachments.minimumSize))","\#(ImageMessages.image(4, size: Attachments.minimumSize - 1))"]"#,
            ]
            let messages = texts.enumerated().map { ModelMessage(role: "user", content: "\($0)", extras: $1) }
            let opened = try await store.open(messages)
            #expect(opened.history.messages.json.array == ImageMessages.json(messages))
            #expect(try await processes.attachments().count == 4)
            try await store.closeTurn(opened.turn, with: opened.closing("1"))
            let (rows, _) = try await processes.archive().branch(of: Self.app, limit: 1 << 30)
            #expect(rows.dropLast().map { String(decoding: $0.extras, as: UTF8.self) } == texts)
            let (prompts, _) = try await processes.archive().prompts(of: try await store.record(opened))
            #expect(prompts.map { String(decoding: $0.extras, as: UTF8.self) } == texts)
            let page = try await processes.archive().page(of: Self.app, .init()).json.string
            #expect(texts.allSatisfy { page.contains($0) })
            // A feed leaves long texts out.
            let events = try await processes.pool.run(
                FeedStatements.events(
                    of: "app", after: FeedPosition(epoch: 0, revision: 0, number: 0), limit: 100, bytes: 1 << 20))
            let shown = events.compactMap { found -> String? in
                guard case .prompt(let prompt)? = found.event?.change else { return nil }
                return String(decoding: prompt.extras, as: UTF8.self)
            }
            #expect(shown == texts.map { $0.utf8.count + 1 <= FeedEvent.textLimit ? $0 : "" })
        }
    }

    /// Rows of earlier versions have their images inside.
    @Test func inlineImageOfAnEarlierVersionIsRead() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let message = ImageMessages.message("old", [ImageMessages.image(1, size: 30_000)])
            try await processes.sql(
                """
                INSERT INTO chatts (appid, seq, name, message, extras)
                VALUES ('app', 1, 'user', 'old', '\(message.extras ?? "")')
                """)
            let next = ImageMessages.message("new", [ImageMessages.image(1, size: 30_000)])
            #expect(try await store.open([next]).history.messages.json.array == ImageMessages.json([message, next]))
            #expect(try await processes.attachments() == [["app", "30000"]])
        }
    }

    @Test func textThatLooksLikeAReferenceIsText() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            _ = try await store.open(
                [ImageMessages.message("a", [ImageMessages.image(1, size: 2_000)])], in: "victim")
            let digest = try await processes.sql("SELECT encode(digest, 'hex') FROM chatterd_attachments")[0][0]
            let large = ImageMessages.image(2, size: 2_000)
            let messages = [
                ModelMessage(role: "user", content: "b", extras: #""images":["\u0001\#(digest)\u0001","\#(digest)"]"#),
                ModelMessage(
                    role: "user", content: "c", extras: #""images":["\u0001\#(digest)\u0001","\#(large)","\#(digest)"]"#
                ),
            ]
            let opened = try await store.open(messages)
            #expect(opened.history.messages.json.array == ImageMessages.json(messages))
        }
    }

    // MARK: - Apps

    @Test func appsShareNoAttachment() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let image = ImageMessages.image(1, size: 2_000)
            let victim = ConversationKey(Owner(app: "one", person: "ada"), name: "secret")
            _ = try await store.open([ImageMessages.message("a", [image])], in: victim)
            _ = try await store.open([ImageMessages.message("b", [image])], in: "two")
            #expect(try await processes.attachments() == [["one", "2000"], ["two", "2000"]])
            // The members of a message of a conversation, read by an owner.
            let digest = try await processes.sql("SELECT encode(digest, 'hex') FROM chatterd_attachments LIMIT 1")[0][0]
            let read = { (owner: String, key: String) async throws in
                try await processes.sql(
                    """
                    BEGIN; SET LOCAL ROLE chatterd_member; SET LOCAL chatterd.owner = E'\(owner)';
                    SELECT chatterd_members(E'\(key)', E'\\x012000\\x01"images":["\\x01\(digest)\\x01"]'); COMMIT
                    """)
            }
            let secret = #"one\x1fada\x1fsecret"#
            for (owner, key) in [(#"one\x1fada\x1f"#, secret), (#"two\x1f\x1f"#, "two"), ("*", secret)] {
                #expect(try await read(owner, key) == [["\"images\":[\"\(image)\"]"]])
            }
            // Another owner reads no conversation of the victim, and its own conversations do not refer to the attachment.
            for (owner, key) in [
                (#"one\x1f\x1f"#, secret), (#"one\x1fbob\x1f"#, secret), (#"on\x1f\x1f"#, secret),
                (#"two\x1f\x1f"#, secret),
                ("", secret), (#"one\x1fbob\x1f"#, #"one\x1fbob\x1f"#), (#"three\x1f\x1f"#, "three"),
            ] {
                await #expect(throws: TestFailure.self, "\(owner) \(key)") { try await read(owner, key) }
            }
            // The role of requests changes neither table, and adds nothing to a conversation that it has not changed.
            for change in [
                "INSERT INTO chatterd_attachment_uses (appid, digest) VALUES (E'one\\x1fbob\\x1f', decode('\(digest)', 'hex'))",
                "INSERT INTO chatterd_attachments VALUES ('one', '', '')",
                "UPDATE chatterd_attachments SET content = ''", "DELETE FROM chatterd_attachments",
                "DELETE FROM chatterd_attachment_uses",
                "SELECT chatterd_attach(E'one\\x1fada\\x1fsecret', ARRAY['00'], ARRAY['x'], true, 0)",
                "SELECT chatterd_share_attachments(E'one\\x1fada\\x1fsecret', 'one')",
            ] {
                _ = try? await processes.sql(
                    """
                    BEGIN; SET LOCAL ROLE chatterd_member; SET LOCAL chatterd.owner = E'one\\x1fbob\\x1f'; \(change); COMMIT
                    """)
                #expect(try await processes.attachments() == [["one", "2000"], ["two", "2000"]], "\(change)")
                #expect(try await processes.sql("SELECT count(*) FROM chatterd_attachment_uses") == [["2"]])
            }
        }
    }

    // MARK: - Copies and files

    @Test func copyAndBranchReferToTheirImages() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let (one, two) = (ImageMessages.image(1, size: 2_000), ImageMessages.image(2, size: 3_000))
            let first = ImageMessages.message("a", [one])
            let opened = try await store.exchange([first])
            try await store.exchange([ImageMessages.message("b", [two])])
            let copy = ConversationKey(Owner(app: "app"), name: "copy")
            try await processes.archive().fork(Self.app, at: opened.id, to: copy, title: nil)
            #expect(
                try await processes.sql(
                    "SELECT translate(appid, E'\\x1f', '/') FROM chatterd_attachment_uses ORDER BY 1")
                    == [["app"], ["app"], ["app//copy"]])
            // Another branch with another image.
            let other = ImageMessages.message("c", [two])
            let branch = try await store.open([other], parent: .reply(opened.id))
            let expected = [first, ModelMessage(role: "assistant", content: "seen"), other]
            #expect(branch.history.messages.json.array == ImageMessages.json(expected))
            // Another answer to the same prompt.
            let again = try await store.openAlternative(
                to: try await store.record(opened), as: .random(), model: nil, onInterrupt: .close)
            #expect(again.history.messages.json.array == ImageMessages.json([first]))
            try await store.deleteConversation("app")
            #expect(try await processes.attachments() == [["app", "2000"]])
            let next = ModelMessage(role: "user", content: "d")
            #expect(
                try await store.open([next], in: copy).history.messages.json.array
                    == ImageMessages.json([first, ModelMessage(role: "assistant", content: "seen"), next]))
        }
    }

    @Test func conversationOfManyImagesIsCopiedAndReplaced() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let images = (0..<400).map { ImageMessages.image(UInt64($0), size: 1_024) }
            let messages = [
                ImageMessages.message("a", Array(images[..<200])), ImageMessages.message("b", Array(images[200...])),
            ]
            let uses = "SELECT count(*) FROM chatterd_attachment_uses GROUP BY appid ORDER BY 1"
            let opened = try await store.exchange(messages)
            let copy = ConversationKey(Owner(app: "app"), name: "copy")
            try await processes.archive().fork(Self.app, at: opened.id, to: copy, title: nil)
            #expect(try await processes.sql(uses) == [["400"], ["400"]])
            // A part of the images is in the new message too.
            try await store.replaceConversation(
                "app", with: [ImageMessages.message("c", Array(images[150..<250]))])
            #expect(try await processes.sql(uses) == [["100"], ["400"]])
            let next = ModelMessage(role: "user", content: "d")
            #expect(
                try await store.open([next], in: copy).history.messages.json.array
                    == ImageMessages.json(messages + [ModelMessage(role: "assistant", content: "seen"), next]))
            try await store.deleteConversation(copy)
            #expect(try await processes.attachments().count == 100)
        }
    }

    @Test func exportHasTheImagesAndImportSplitsThem() async throws {
        let image = ImageMessages.image(1, size: 200_000)
        let messages = [
            ImageMessages.message("a", [image, ImageMessages.image(2, size: 5_000)]),
            ImageMessages.message("b", ["aGk=", image]),
        ]
        let (done, files) = AsyncStream.makeStream(of: [UInt8].self)
        try await StoreProcesses.run { processes in
            try await processes.largeStore().exchange(messages)
            files.yield(try await processes.archive().exported(Self.app))
        }
        var iterator = done.makeAsyncIterator()
        let file = try #require(await iterator.next())
        #expect(!file.contains(Attachments.mark))
        // On another server, as another app.
        try await StoreProcesses.run { processes in
            let key = ConversationKey(Owner(app: "other"), name: "copy")
            _ = try await processes.archive().importFile(file, isPiece: false, into: key)
            #expect(try await processes.attachments() == [["other", "5000"], ["other", "200000"]])
            let strip = { (file: [UInt8]) in
                String(decoding: file, as: UTF8.self).replacing(/"conversation":"[^"]*"/, with: "")
                    .replacing(/"id":"[-0-9a-f]{36}"/, with: "")
            }
            #expect(strip(try await processes.archive().exported(key)) == strip(file))
            let next = ModelMessage(role: "user", content: "c")
            #expect(
                try await processes.largeStore().open([next], in: key).history.messages.json.array
                    == ImageMessages.json(messages + [ModelMessage(role: "assistant", content: "seen"), next]))
        }
    }

    @Test func conversationIsCreatedWithImages() async throws {
        try await StoreProcesses.run { processes in
            let message = ImageMessages.message("a", [ImageMessages.image(1, size: 2_000)])
            let catalogue = ConversationCatalogue(pool: processes.pool, readers: processes.pool)
            let key = ConversationKey(Owner(app: "app"), name: "new")
            _ = try await catalogue.create(key, title: nil, messages: [message])
            #expect(try await processes.attachments() == [["app", "2000"]])
            // A refused creation stores none.
            let other = ImageMessages.message("a", [ImageMessages.image(2, size: 2_000)])
            #expect(
                await relayCode { _ = try await catalogue.create(key, title: nil, messages: [other]) }
                    == .conversationExists)
            #expect(try await processes.attachments() == [["app", "2000"]])
        }
    }

    // MARK: - Limits

    @Test func attachmentsOfAnAppAreBounded() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore(attachmentsLimit: 5_000)
            let images = (0..<4).map { ImageMessages.image(UInt64($0), size: 2_000) }
            try await store.exchange([ImageMessages.message("a", [images[0], images[1]])])
            do {
                _ = try await store.open([ImageMessages.message("b", [images[2]])])
                Issue.record("the prompt is stored")
            } catch let error as RelayError {
                #expect(error.code == .attachmentsFull)
                #expect(error.message.contains("CHATTERD_ATTACHMENTS_LIMIT, 5000 bytes"))
            }
            #expect(try await processes.sql("SELECT count(*) FROM chatts") == [["2"]])
            #expect(try await processes.attachments().count == 2)
            // A known image needs no room, another app has its own.
            try await store.exchange([ImageMessages.message("c", [images[1]])])
            try await store.exchange([ImageMessages.message("d", [images[2]])], in: "other")
            // What a replacement removes makes room for what it brings.
            let large = ImageMessages.image(9, size: 4_900)
            #expect(
                await relayCode {
                    try await store.replaceConversation(
                        "app", with: [ImageMessages.message("e", [large, images[0]])])
                } == .attachmentsFull)
            try await store.replaceConversation("app", with: [ImageMessages.message("e", [large])])
            #expect(try await processes.attachments() == [["app", "4900"], ["other", "2000"]])
            let archive = processes.archive(attachmentsLimit: 5_000)
            let file = try await archive.exported(ConversationKey(Owner(app: "other")))
            let copy = ConversationKey(Owner(app: "app"), name: "copy")
            #expect(
                await relayCode { _ = try await archive.importFile(file, isPiece: false, into: copy) }
                    == .attachmentsFull)
            #expect(try await processes.rowCounts(of: copy).isEmpty)
            try await store.deleteConversation("app")
            _ = try await archive.importFile(file, isPiece: false, into: copy)
        }
    }

    private static let app = ConversationKey(Owner(app: "app"))
}
