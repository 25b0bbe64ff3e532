import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Attachments are removed with the last conversation that refers to them, and not before.
@Suite(.timeLimit(.minutes(30))) struct AttachmentRemovalTests {
    /// Two conversations of one app.
    private static let old = ConversationKey(Owner(app: "app"), name: "old")
    private static let new = ConversationKey(Owner(app: "app"), name: "new")

    @Test func attachmentIsRemovedWithTheLastConversationThatRefersToIt() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let (one, two) = (ImageMessages.image(1, size: 2_000), ImageMessages.image(2, size: 3_000))
            let other = ConversationKey(Owner(app: "app", person: "ada"))
            try await store.exchange([ImageMessages.message("a", [one, two])])
            try await store.exchange([ImageMessages.message("b", [two])], in: other)
            #expect(try await processes.attachments() == [["app", "2000"], ["app", "3000"]])
            try await store.deleteConversation("app")
            #expect(try await processes.attachments() == [["app", "3000"]])
            #expect(try await processes.rowCounts().isEmpty)
            try await store.deleteConversation(other)
            #expect(try await processes.attachments().isEmpty)

            // A replaced conversation refers to its new messages only.
            try await store.exchange([ImageMessages.message("a", [one])])
            try await store.replaceConversation("app", with: [ImageMessages.message("b", [two])])
            #expect(try await processes.attachments() == [["app", "3000"]])
            try await store.replaceConversation("app", with: [ImageMessages.message("b", [one, two])])
            #expect(try await processes.attachments().count == 2)
            try await store.replaceConversation("app", with: [ModelMessage(role: "user", content: "c")])
            #expect(try await processes.attachments().isEmpty)

            // By age.
            try await store.exchange([ImageMessages.message("a", [one])])
            try await store.expireConversation("app", after: .zero, isStopping: { false })
            #expect(try await processes.attachments().isEmpty)

            // Without an identity.
            for name in ["x", "y"] {
                let key = ConversationKey.stateless(of: Owner(app: "app"), named: name)
                try await store.exchange([ImageMessages.message("a", [one, two])], in: key)
            }
            #expect(try await processes.attachments().count == 2)
            #expect(
                try await processes.pool.run(RetentionStatements.expireStateless(limit: 10, age: .zero)).first == 2)
            #expect(try await processes.attachments().isEmpty)

            // An opening that is withdrawn.
            let opened = try await store.open([ImageMessages.message("a", [one])], in: "withdrawn")
            #expect(try await store.withdraw(opened.id, in: "withdrawn"))
            #expect(try await processes.attachments().isEmpty)
        }
    }

    /// Turns and items are removed from a conversation that goes on.
    @Test func removedMessagesReleaseTheImagesThatNoOtherMessageHas() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let archive = processes.archive()
            let images = (0..<3).map { ImageMessages.image(UInt64($0), size: 2_000 + $0) }
            try await store.exchange([ImageMessages.message("a", [images[0]])], in: Self.new)
            let second = try await store.exchange([ImageMessages.message("b", [images[0], images[1]])], in: Self.new)
            _ = try await archive.add([ImageMessages.message("c", [images[1], images[2]])], to: Self.new)
            #expect(try await processes.attachments().count == 3)

            guard let last = try await archive.lastMessage(of: Self.new) else { throw TestFailure("no item") }
            #expect(try await archive.replace(last, of: Self.new, by: nil))
            #expect(try await processes.attachments() == [["app", "2000"], ["app", "2001"]])
            guard let record = try await store.findReply(second.id) else { throw TestFailure("no reply") }
            try await archive.remove(record)
            #expect(try await processes.attachments() == [["app", "2000"]])
            let opened = try await store.open([ImageMessages.message("d", [images[2]])], in: Self.new)
            #expect(try await processes.attachments().count == 2)
            #expect(try await store.withdraw(opened.id, in: Self.new))
            #expect(try await processes.attachments() == [["app", "2000"]])
            // The first message has its image.
            let next = try await store.open([ModelMessage(role: "user", content: "e")], in: Self.new)
            let first = ImageMessages.json([ImageMessages.message("a", [images[0]])])
            #expect(next.history.messages.json.array.starts(with: first))
        }
    }

    /// The images of a removed message are not searched in a long conversation.
    @Test(arguments: [(0, 2), (1, 1)])
    func imagesOfALongConversationStay(limit: Int, remaining: Int) async throws {
        try await StoreProcesses.run { processes in
            let archive = processes.archive()
            try await processes.largeStore().exchange(
                [ImageMessages.message("a", [ImageMessages.image(0, size: 2_000)])], in: Self.new)
            _ = try await archive.add([ImageMessages.message("b", [ImageMessages.image(1, size: 2_001)])], to: Self.new)
            let key = Self.new.text
            try await processes.sql(
                """
                BEGIN; SET LOCAL chatterd.owner = '*'; DELETE FROM chatts WHERE appid = '\(key)' AND seq > 1;
                UPDATE chatterd_conversations SET revision = revision + 1, base = revision + 1 WHERE appid = '\(key)';
                SELECT FROM chatterd_release('\(key)', \(limit)); COMMIT
                """)
            #expect(try await processes.attachments().count == remaining)
        }
    }

    /// A prompt with the image comes while the last conversation with it is being removed, before the commit of the removal.
    @Test func imageThatComesBackDuringItsRemovalIsKept() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let message = ImageMessages.message(
                "a", [ImageMessages.image(1, size: 2_000), ImageMessages.image(2, size: 2_000)])
            try await store.exchange([message], in: Self.old)
            try await processes.holdingGate { release in
                let removal = Task {
                    try await processes.sql(
                        """
                        BEGIN; SET LOCAL chatterd.owner = '*'; DELETE FROM chatts WHERE appid = '\(Self.old.text)';
                        DELETE FROM chatterd_conversations WHERE appid = '\(Self.old.text)';
                        SELECT pg_advisory_xact_lock(\(StoreProcesses.gate)); COMMIT
                        """)
                }
                try await processes.waitForBlocked(1)
                let opening = Task(executorPreference: processes.pool.shard) {
                    try await store.open([message], in: Self.new)
                }
                try await processes.waitForBlocked(2)
                try await release()
                _ = try await removal.value
                #expect(try await opening.value.history.messages.json.array == ImageMessages.json([message]))
            }
            #expect(
                try await processes.sql("SELECT DISTINCT appid = '\(Self.new.text)' FROM chatterd_attachment_uses") == [
                    ["t"]
                ])
            #expect(try await processes.attachments().count == 2)
        }
    }

    /// The last conversation with an image is removed while a prompt with it is being stored, before the commit of the prompt.
    @Test func imageThatIsBeingStoredAgainOutlivesItsConversation() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let message = ImageMessages.message(
                "a", [ImageMessages.image(1, size: 2_000), ImageMessages.image(2, size: 2_000)])
            try await store.exchange([message], in: Self.old)
            try await processes.holdingGate { release in
                let opening = Task(executorPreference: processes.pool.shard) {
                    var attachments = Attachments()
                    let prompts = attachments.detach(from: [message])
                    let opening = NewTurn(conversation: Self.new, prompts: prompts, id: .random(), model: "m")
                    var transaction = Transaction()
                    transaction.add(
                        ConversationStatements.openTurn(opening, owner: store.lease.id, size: 1, limit: 1 << 30))
                    transaction.add(AttachmentStatements.attach(attachments, to: Self.new, limit: 0))
                    transaction.add(Query(Self.waitForGate, .int8(StoreProcesses.gate)))
                    _ = try await processes.pool.run(transaction)
                }
                try await processes.waitForBlocked(1)
                let removal = Task(executorPreference: processes.pool.shard) {
                    try await store.deleteConversation(Self.old)
                }
                try await processes.waitForBlocked(2)
                try await release()
                try await opening.value
                try await removal.value
            }
            #expect(
                try await processes.sql("SELECT DISTINCT appid = '\(Self.new.text)' FROM chatterd_attachment_uses") == [
                    ["t"]
                ])
            #expect(try await processes.attachments().count == 2)
            #expect(
                try await store.open([message], in: Self.new).history.messages.json.array.contains(0x01) == false)
        }
    }

    /// A replacement waits for another one, or for a removal that a new beginning follows. It did not see their rows when it began.
    @Test(arguments: [false, true])
    func laterOfTwoReplacementsAtOnceReplacesTheEarlierOne(afterARemoval: Bool) async throws {
        try await StoreProcesses.run { processes in
            let store = processes.largeStore()
            let messages = (0..<3).map {
                ImageMessages.message("\($0)", [ImageMessages.image(UInt64($0), size: 2_000)])
            }
            try await store.exchange([messages[0]], in: Self.old)
            try await processes.holdingGate { release in
                let first = Task(executorPreference: processes.pool.shard) {
                    var attachments = Attachments()
                    let replacement = attachments.detach(from: [messages[1]])
                    var transaction = Transaction()
                    if afterARemoval {
                        transaction.add(ConversationStatements.deleteRows(of: Self.old, limit: 1_000))
                        transaction.add(ConversationRevision.removeEmpty(Self.old))
                    }
                    transaction.add(ConversationStatements.replace(Self.old, with: replacement))
                    transaction.add(AttachmentStatements.attach(attachments, to: Self.old, limit: 0, replacing: true))
                    transaction.add(Query(Self.waitForGate, .int8(StoreProcesses.gate)))
                    _ = try await processes.pool.run(transaction)
                }
                try await processes.waitForBlocked(1)
                let second = Task(executorPreference: processes.pool.shard) {
                    try await store.replaceConversation(Self.old, with: [messages[2]])
                }
                try await processes.waitForBlocked(2)
                try await release()
                try await first.value
                try await second.value
            }
            #expect(
                try await processes.sql("SELECT message FROM chatts WHERE appid = '\(Self.old.text)' ORDER BY seq") == [
                    ["2"]
                ])
            #expect(try await processes.attachments().count == 1)
        }
    }

    private static let waitForGate = Statement("wait_for_gate", .int8, sql: "SELECT pg_advisory_xact_lock($1)")

    /// Prompts, replacements and removals with the same few images, all at once.
    @Test func attachmentsAreConsistentAfterConcurrentChanges() async throws {
        try await StoreProcesses.run { processes in
            let stores = [processes.largeStore(), processes.largeStore()]
            let images = (0..<4).map { ImageMessages.image(UInt64($0), size: 2_000 + $0) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<6 {
                    group.addTask(executorPreference: processes.pool.shard) {
                        var random = SeededGenerator(seed: UInt64(worker))
                        for _ in 0..<25 {
                            let store = stores[worker % 2]
                            let conversation: ConversationKey =
                                "app\u{1F}\u{1F}\(Int.random(in: 0..<3, using: &random))"
                            let message = ImageMessages.message(
                                "m",
                                Array(images.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))))
                            switch Int.random(in: 0..<10, using: &random) {
                            case ..<2: try await store.deleteConversation(conversation)
                            case ..<4: try await store.replaceConversation(conversation, with: [message])
                            default:
                                _ = try await store.openTurn(
                                    NewTurn(
                                        conversation: conversation, prompts: [message], id: .random(), model: "m"))
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            // Each reference has its attachment, and each attachment a conversation.
            let missing = try await processes.sql(
                """
                SELECT c.appid FROM chatts c WHERE left(c.extras, 1) = E'\\x01' AND chatterd_members(c.appid, c.extras) IS NULL
                UNION ALL
                SELECT a.app FROM chatterd_attachments a WHERE NOT EXISTS (
                    SELECT FROM chatterd_attachment_uses u WHERE u.app = a.app AND u.digest = a.digest)
                UNION ALL
                SELECT u.appid FROM chatterd_attachment_uses u
                WHERE NOT EXISTS (SELECT FROM chatterd_conversations v WHERE v.appid = u.appid)
                """)
            #expect(missing.isEmpty)
            _ = try await processes.attachments()
            for number in 0..<3 {
                try await stores[0].deleteConversation("app\u{1F}\u{1F}\(number)")
            }
            #expect(try await processes.attachments().isEmpty)
        }
    }
}
