import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Row-level security, without the checks of the handlers: each function of the stores is called with the keys of another owner.
@Suite(.timeLimit(.minutes(30))) struct RowScopeTests {
    private static let victim = Owner(app: "app", person: "ada")
    /// Owners whose names are near that of the victim.
    private static let strangers = [
        Owner(app: "app"), Owner(app: "ap"), Owner(app: "app2"), Owner(app: "app", person: "ad"),
        Owner(app: "app", person: "ada2"), Owner(app: "app", person: "%"), Owner(app: "app", person: "_da"),
    ]
    private static let key = ConversationKey(victim, name: "secret")

    /// A conversation of the victim with a complete reply, a running reply with a journal, an idempotency key and a signal.
    private struct Seed {
        let complete: ReplyRecord
        let running: ReplyRecord
        let opened: StoredTurn
        let idempotencyKey: IdempotencyKey
    }

    private static func seed(_ processes: StoreProcesses) async throws -> Seed {
        let store = processes.first
        let complete = try await store.exchange("secret question", "secret answer", in: key)
        let image = ImageMessages.message("secret image", [ImageMessages.image(1, size: 2_000)])
        try await store.exchange([image], in: key)
        let idempotencyKey = IdempotencyKey(text: "secret key", digest: [1])
        let id = ReplyID.random()
        var opening = NewTurn(
            conversation: key, prompts: [ModelMessage(role: "user", content: "secret prompt")], id: id, model: "m")
        opening.key = idempotencyKey
        guard case .opened(let turn, let history, _) = try await store.openTurn(opening) else {
            throw TestFailure("the turn is known")
        }
        let opened = StoredTurn(turn: turn, id: id, history: history)
        _ = try await store.journal([opened.entry("secret journal")])
        let running = try await store.record(opened)
        try await store.signal(.stop, to: running)
        return Seed(
            complete: try await store.record(complete), running: running, opened: opened, idempotencyKey: idempotencyKey
        )
    }

    /// The rows of all owners, as text.
    private static func rows(_ processes: StoreProcesses) async throws -> [[String]] {
        try await processes.sql(
            """
            SELECT encode(convert_to(r, 'UTF8'), 'hex') FROM (
                SELECT c::text FROM chatts c UNION ALL SELECT v::text FROM chatterd_conversations v
                UNION ALL SELECT j::text FROM chatterd_journal j UNION ALL SELECT k::text FROM chatterd_keys k
                UNION ALL SELECT s::text FROM chatterd_signals s UNION ALL SELECT h::text FROM chatterd_changes h
                UNION ALL SELECT a::text FROM chatterd_attachments a UNION ALL SELECT u::text FROM chatterd_attachment_uses u) AS t (r) ORDER BY 1
            """)
    }

    @Test func foreignConversationIsNeitherReadNorChanged() async throws {
        try await StoreProcesses.run { processes in
            let seed = try await Self.seed(processes)
            let before = try await Self.rows(processes)
            for stranger in Self.strangers {
                try await RowScope.$current.withValue(RowScope(stranger)) {
                    try await Self.read(processes, seed)
                    await Self.change(processes, seed, stranger)
                }
                #expect(try await Self.rows(processes) == before, "\(stranger)")
            }
            // The owner reads and changes the same rows.
            try await RowScope.$current.withValue(RowScope(Self.victim)) {
                #expect(try await processes.first.findReply(seed.complete.id) != nil)
                #expect(
                    try await processes.first.readReply(seed.running, from: ReplyPosition()).words == "secret journal")
                try await processes.first.deleteConversation(Self.key)
            }
            #expect(try await processes.rowCounts(of: Self.key).isEmpty)
        }
    }

    /// Reads as a stranger.
    private static func read(_ processes: StoreProcesses, _ seed: Seed) async throws {
        let store = processes.first
        #expect(try await store.findReply(seed.complete.id) == nil)
        #expect(try await store.findReply(seed.running.id) == nil)
        #expect(try await store.knownReply(in: key, key: seed.idempotencyKey) == nil)
        #expect(try await store.openedTurn(seed.running.id, in: key) == nil)
        for reply in [seed.complete, seed.running] {
            #expect(await relayCode { _ = try await store.readReply(reply, from: ReplyPosition()) } == .replyNotFound)
            #expect(
                await relayCode { _ = try await store.history(of: reply.turn, for: reply.id) } == .conversationReplaced)
        }
        let catalogue = ConversationCatalogue(pool: processes.pool, readers: processes.pool)
        #expect(try await catalogue.list(CatalogueQuery(owner: victim, limit: 10)).entries.isEmpty)
        #expect(try await catalogue.search(CatalogueQuery(owner: victim, limit: 10), for: "secret").hits.isEmpty)
        #expect(try await catalogue.keys(of: CatalogueQuery(owner: victim, limit: 10), after: nil).isEmpty)
        let archive = Self.archive(processes)
        #expect(await relayCode { _ = try await archive.page(of: key, .init()) } == .conversationNotFound)
        #expect(await relayCode { _ = try await archive.export(key) } == .conversationNotFound)
    }

    /// Changes as a stranger. Each call fails or changes no row.
    private static func change(_ processes: StoreProcesses, _ seed: Seed, _ stranger: Owner) async {
        let (store, turn) = (processes.first, seed.running.turn)
        #expect(await relayCode { _ = try await store.open("p", in: key) } != nil)
        #expect(
            await relayCode { _ = try await store.open("p", in: key, parent: .reply(seed.complete.id)) } != nil)
        #expect(
            await relayCode {
                _ = try await store.openAlternative(
                    to: seed.complete, as: .random(), model: nil, onInterrupt: .close)
            } == .replyNotFound)
        #expect(await relayCode { try await store.choose(seed.complete) } == .replyNotFound)
        _ = try? await store.signal(.stop, to: seed.running)
        _ = try? await store.settleTurn(turn, isAbandonedHere: true, closesRegenerated: true)
        _ = try? await store.withdraw(seed.running.id, in: key)
        _ = try? await store.handOver(turn, id: seed.running.id, attempt: 1, isEmpty: true)
        _ = try? await store.restartTurn(turn, id: seed.running.id, attempt: 1)
        _ = try? await store.closeTurn(turn, with: seed.opened.closing("stolen"))
        _ = try? await store.replaceConversation(
            key, with: [ModelMessage(role: "user", content: "stolen")])
        _ = try? await store.deleteConversation(key)
        let catalogue = ConversationCatalogue(pool: processes.pool, readers: processes.pool)
        #expect(
            await relayCode { _ = try await catalogue.change(key, try stolenTitle) } != nil)
        #expect(await relayCode { _ = try await catalogue.create(key, title: nil, messages: []) } != nil)
        let archive = Self.archive(processes)
        let copy = ConversationKey(stranger, name: "copy")
        #expect(
            await relayCode { try await archive.fork(key, at: nil, to: copy, title: nil) } == .conversationNotFound)
        #expect(await relayCode { _ = try await archive.importFile([], isPiece: true, into: key) } != nil)
    }

    private static var stolenTitle: ConversationChange {
        get throws { try ConversationChange(decoding: Array(#"{"title":"stolen"}"#.utf8).span) }
    }

    private static func archive(_ processes: StoreProcesses) -> ConversationArchive {
        ConversationArchive(
            pool: processes.pool, readers: processes.pool, conversationLimit: 1 << 30,
            memory: MemoryBudget(limit: 1 << 30))
    }

    @Test func transactionWithoutAnOwnerSeesNoRow() async throws {
        try await StoreProcesses.run { processes in
            _ = try await Self.seed(processes)
            for setting in ["", "SET LOCAL chatterd.owner = '';", #"SET LOCAL chatterd.owner = E'ap\x1f\x1f';"#] {
                for table in [
                    "chatts", "chatterd_conversations", "chatterd_journal", "chatterd_keys", "chatterd_signals",
                    "chatterd_changes",
                ] {
                    let count = try await processes.sql(
                        "BEGIN; SET LOCAL ROLE chatterd_member; \(setting) SELECT count(*) FROM \(table); COMMIT")
                    #expect(count == [["0"]], "\(setting) \(table)")
                }
            }
            await RowScope.$current.withValue(.noRows) {
                #expect(await relayCode { _ = try await processes.first.open("p") } != nil)
            }
        }
    }

    @Test func roleOfRequestsCannotReadCredentials() async throws {
        try await StoreProcesses.run { processes in
            for table in [
                "chatterd_app_keys", "chatterd_signing_keys", "chatterd_audit", "chatterd_revocations",
                "chatterd_sessions", "chatterd_usage", "chatterd_meters",
                "chatterd_upstreams", "chatterd_migrations", "chatterd_attachments", "chatterd_attachment_uses",
                "chatterd_attachment_totals", "chatterd_charges", "chatterd_queues",
            ] {
                await #expect(throws: TestFailure.self, "\(table)") {
                    try await processes.sql("SET ROLE chatterd_member; SELECT count(*) FROM \(table)")
                }
            }
        }
    }

    @Test func roleOfRequestsChangesOnlyWhatRequestsChange() async throws {
        try await StoreProcesses.run { processes in
            for change in [
                "DELETE FROM chatterd_processes", "DELETE FROM chatterd_charges",
                "UPDATE chatterd_charges SET owner = ''",
                "UPDATE chatterd_sheet_tables SET generation = 0",
                "INSERT INTO chatterd_queue (upstream, reply, appid, holder, rank) VALUES ('u', gen_random_uuid(), 'app', gen_random_uuid(), 1)",
            ] {
                await #expect(throws: TestFailure.self, "\(change)") {
                    try await processes.sql("SET ROLE chatterd_member; SET chatterd.owner = '*'; \(change)")
                }
            }
        }
    }

    @Test func requestsRemoveNoTicketOfAnotherOwner() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                INSERT INTO chatterd_queue (upstream, reply, appid, holder, rank) VALUES
                    ('u', gen_random_uuid(), E'app\\x1Fada\\x1F', gen_random_uuid(), 1),
                    ('u', gen_random_uuid(), E'app\\x1F\\x1F', gen_random_uuid(), 1);
                INSERT INTO chatterd_queue_ranks (upstream, appid, rank) VALUES ('u', E'app\\x1Fada\\x1F', 1)
                """)
            try await processes.sql(
                """
                SET ROLE chatterd_member; SET chatterd.owner = E'app\\x1F\\x1F';
                DELETE FROM chatterd_queue; DELETE FROM chatterd_queue_ranks
                """)
            #expect(
                try await processes.sql("SELECT translate(appid, E'\\x1f', '/') FROM chatterd_queue") == [["app/ada/"]])
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_queue_ranks") == [["1"]])
        }
    }

    @Test func everyTableWithConversationsHasAPolicy() async throws {
        try await StoreProcesses.run { processes in
            let open = try await processes.sql(
                """
                SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'appid'
                WHERE c.relkind = 'r' AND NOT (
                    c.relrowsecurity AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)) ORDER BY 1
                """)
            #expect(open.isEmpty)
        }
    }

    @Test func migratorSaysWhichRightsOfTheRoleItHasRepaired() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                REVOKE ALL ON chatterd_keys FROM chatterd_member; GRANT UPDATE ON chatterd_charges TO chatterd_member;
                REVOKE EXECUTE ON FUNCTION chatterd_is_state(text) FROM chatterd_member
                """)
            let migrator = Migrator(try ConnectionTarget(processes.conninfo))
            let outcome = try await migrator.run(timeout: .seconds(600))
            #expect(
                outcome.description == """
                    set the rights of chatterd_member on chatterd_charges, chatterd_keys
                    set the rights of the functions chatterd_is_state(text)
                    """)
            #expect(try await migrator.run(timeout: .seconds(600)).description == "nothing to migrate")
        }
    }

    /// The role belongs to the cluster, so this test has one of its own.
    @Test func migratorSaysThatItHasMadeTheRole() async throws {
        let cluster = try await blocking { try PrivateCluster.make() }
        _ = try await blocking { try cluster.query("CREATE ROLE maker LOGIN CREATEROLE", database: "postgres") }
        _ = try await blocking { try cluster.query("GRANT ALL ON SCHEMA public TO maker", database: "postgres") }
        let conninfo = cluster.conninfo(database: "postgres").replacing("user=postgres", with: "user=maker")
        let migrator = Migrator(try ConnectionTarget(conninfo))
        let first = try await migrator.run(timeout: .seconds(600))
        #expect(first.applied.count == Migration.embedded.count)
        #expect(try await migrator.run(timeout: .seconds(600)).description == "nothing to migrate")
        _ = try await blocking {
            try cluster.query("DROP OWNED BY chatterd_member; DROP ROLE chatterd_member", database: "postgres")
        }
        let again = try await migrator.run(timeout: .seconds(600))
        #expect(again.applied.isEmpty && again.changes == first.changes, "\(first.changes) \(again.changes)")
        #expect(again.changes.first == "created the role chatterd_member", "\(again)")
        #expect(again.changes.contains { $0.hasPrefix("set the rights of chatterd_member on ") }, "\(again)")
        #expect(try await migrator.run(timeout: .seconds(600)).description == "nothing to migrate")
    }

    @Test func loginRoleThatMayNotUseTheRoleWorksWithoutIt() async throws {
        let cluster = try await blocking { try PrivateCluster.shared() }
        let name = try await blocking {
            let name = try cluster.makeEmptyDatabaseName()
            try cluster.query("CREATE ROLE lowly_\(name) LOGIN", database: "postgres")
            try cluster.query("ALTER DATABASE \(name) OWNER TO lowly_\(name)", database: "postgres")
            try cluster.query("GRANT ALL ON SCHEMA public TO lowly_\(name)", database: name)
            return name
        }
        let conninfo = cluster.conninfo(database: name).replacing("user=postgres", with: "user=lowly_\(name)")
        let target = try ConnectionTarget(conninfo)
        _ = try await Migrator(target).run(timeout: .seconds(600))
        try await StoreProcesses.onPool(target) { pool in
            #expect(try await pool.run(MemberRole.isUsableQuery).first == false)
            #expect(try await pool.run(FunctionPrivileges.unprotected).isEmpty)
            let store = PostgresConversationStore(pool: pool, lease: ProcessLease(id: .random()), historyLimit: 1 << 20)
            let opened = try await store.exchange("p", "a")
            #expect(try await store.record(opened).state == .complete)
        }
    }
}
