import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgres
@testable import ChatterdPostgresStore

/// The list of the conversations of each owner.
@Suite(.timeLimit(.minutes(30))) struct CatalogueTests {
    private static let app = Owner(app: "app")

    private func catalogue(_ processes: StoreProcesses) -> ConversationCatalogue {
        ConversationCatalogue(pool: processes.pool, readers: processes.pool)
    }

    @Test func pagesHaveEachConversationOnce() async throws {
        try await StoreProcesses.run { processes in
            // Three times in two periods for all of them, so that names decide. Every fifth is archived.
            try await processes.sql(
                """
                INSERT INTO chatterd_conversations (appid, owner, updated_at, changed_in, archived_at)
                SELECT E'app\\x1f\\x1f' || n, E'app\\x1f\\x1f', t, date_bin('10 min', t, 'epoch'), CASE n % 5 WHEN 0 THEN now() END
                FROM generate_series(1, 53) AS n,
                    LATERAL (SELECT timestamptz '2026-01-01' + n % 3 * interval '7 min') AS c (t)
                """)
            for limit in [1, 7, 53, 200] {
                var query = CatalogueQuery(owner: Self.app, limit: limit)
                query.archive = .all
                var entries: [CatalogueEntry] = []
                repeat {
                    let page = try await catalogue(processes).list(query)
                    #expect(page.entries.count == limit || page.next == nil)
                    entries += page.entries
                    query.position = page.next.flatMap { CataloguePosition(parsing: $0.text) }
                } while query.position != nil
                #expect(Set(entries.map(\.key)).count == 53 && entries.count == 53)
                #expect(entries.map(\.updatedAt) == entries.map(\.updatedAt).sorted(by: >))
            }
        }
    }

    @Test func onlyOldSingleRequestsAreRemoved() async throws {
        try await StoreProcesses.run { processes in
            // Each has one of two owners' texts and four ages. Of the old single ones, one has a reply that runs, and one has two.
            try await processes.sql(
                """
                INSERT INTO chatterd_conversations (appid, owner, updated_at, changed_in)
                SELECT E'app\\x1f\\x1f' || n, E'app\\x1f\\x1f' || CASE n % 2 WHEN 0 THEN E'\\x1d' ELSE '' END, t,
                    date_bin('10 min', t, 'epoch')
                FROM generate_series(0, 12) AS n, LATERAL (SELECT now() - n / 4 * interval '20 days') AS c (t);
                INSERT INTO chatts (appid, seq, turn, name, message, state)
                SELECT E'app\\x1f\\x1f' || n, 1, 1, 'assistant', '', CASE n WHEN 8 THEN 'streaming' ELSE 'complete' END
                FROM generate_series(0, 12) AS n
                UNION ALL SELECT E'app\\x1f\\x1f12', 2, 2, 'assistant', '', 'complete'
                """)
            let removed = try await processes.pool.run(
                RetentionStatements.expireSingles(limit: 10, age: Housekeeper.singleLifetime)
            ).first
            #expect(removed == 1)
            var query = CatalogueQuery(owner: Self.app, limit: 50)
            query.listsSingles = true
            let singles = try await catalogue(processes).list(query).entries.map(\.key.name)
            #expect(Set(singles) == ["0", "2", "4", "6", "8", "12"])
            query.listsSingles = false
            #expect(try await catalogue(processes).list(query).entries.count == 6)
            #expect(try await catalogue(processes).keys(of: query, after: nil).count == 12)
        }
    }

    /// Such a process sets the time of a change, and not its period.
    @Test func changesOfAnEarlierVersionLeaveEachConversationInTheList() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                INSERT INTO chatterd_conversations (appid, owner, updated_at, changed_in)
                SELECT E'app\\x1f\\x1f' || n, E'app\\x1f\\x1f', t, date_bin('10 min', t, 'epoch')
                FROM generate_series(1, 40) AS n, LATERAL (SELECT timestamptz '2026-01-01' + n * interval '4 min') AS c (t);
                UPDATE chatterd_conversations SET updated_at = now() WHERE appid LIKE '%3';
                UPDATE chatterd_conversations SET updated_at = timestamptz '2025-01-01' WHERE appid LIKE '%7'
                """)
            for limit in [1, 3, 40] {
                var query = CatalogueQuery(owner: Self.app, limit: limit)
                var names: [String] = []
                repeat {
                    let page = try await catalogue(processes).list(query)
                    names += page.entries.map(\.key.name)
                    query.position = page.next.flatMap { CataloguePosition(parsing: $0.text) }
                } while query.position != nil
                #expect(names.count == 40 && Set(names).count == 40)
            }
            let first = ConversationKey(Self.app, name: "3")
            _ = try await catalogue(processes).change(first, try change(#"{"title":"x"}"#))
            let query = CatalogueQuery(owner: Self.app, limit: 1)
            #expect(try await catalogue(processes).list(query).entries.map(\.key) == [first])
        }
    }

    @Test func changesSetTheirPeriod() async throws {
        try await StoreProcesses.run { processes in
            let key = ConversationKey(Self.app)
            func expectPeriod(_ change: String) async throws {
                #expect(
                    try await processes.sql(
                        """
                        SELECT changed_in = date_bin('10 min', updated_at, 'epoch') AND updated_at <> '2026-01-01T00:07Z'
                        FROM chatterd_conversations
                        """) == [["t"]], "\(change)")
                try await processes.sql(
                    """
                    UPDATE chatterd_conversations SET
                        updated_at = '2026-01-01T00:07Z', changed_in = '2026-01-01T00:00Z'
                    """)
            }
            try await processes.first.exchange("a", "1")
            try await expectPeriod("creation")
            try await processes.first.exchange("b", "2")
            try await expectPeriod("prompt")
            _ = try await catalogue(processes).setTitle("x", of: key)
            try await expectPeriod("title that was made")
            _ = try await catalogue(processes).change(key, try change(#"{"title":"y"}"#))
            try await expectPeriod("title")
        }
        // All other statements use the same text.
        let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
        var assignments = 0
        for case let file as URL in FileManager.default.enumerator(
            at: URL(filePath: root + "/Sources/Program/PostgresStore"), includingPropertiesForKeys: nil) ?? .init()
        where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            assignments += source.ranges(of: "updated_at = now()").count
        }
        #expect(assignments == 1)
    }

    @Test func entryHasItsTitleAndItsState() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.replaceConversation(
                "app", with: [ModelMessage(role: "system", content: "be brief")])
            try await store.exchange("What is  the\nweather?", "1")
            let query = CatalogueQuery(owner: Self.app, limit: 10)
            var entry = try #require(try await catalogue(processes).list(query).entries.first)
            #expect(entry.key.isDefault && entry.key.name == "app")
            #expect(entry.title == nil && entry.opening == "What is  the\nweather?" && !entry.isRunning)
            _ = try await store.open("more")
            entry = try await catalogue(processes).change(
                entry.key, try change(#"{"title":"Weather","archived":true}"#))
            #expect(entry.title == "Weather" && entry.opening == nil && entry.isRunning && entry.isArchived)
            #expect(try await catalogue(processes).list(query).entries.isEmpty)
            for archive in [CatalogueArchive.archived, .all] {
                var query = query
                query.archive = archive
                #expect(try await catalogue(processes).list(query).entries == [entry])
            }
            entry = try await catalogue(processes).change(entry.key, try change(#"{"title":null}"#))
            #expect(entry.title == nil && entry.isArchived)
            entry = try await catalogue(processes).change(entry.key, try change(#"{"archived":false}"#))
            #expect(!entry.isArchived)
        }
    }

    @Test func unknownConversationIsNotChanged() async throws {
        try await StoreProcesses.run { processes in
            let key = ConversationKey(Self.app, name: "none")
            let change = try change(#"{"title":"x"}"#)
            #expect(await relayCode { _ = try await catalogue(processes).change(key, change) } == .conversationNotFound)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_conversations") == [["0"]])
            // An earlier version has written its messages.
            try await processes.sql(
                "INSERT INTO chatts (appid, seq, name, message) VALUES (E'app\\x1f\\x1fnone', 1, 'user', 'x')")
            #expect(try await catalogue(processes).change(key, change).title == "x")
        }
    }

    @Test func conversationIsCreatedOnce() async throws {
        try await StoreProcesses.run { processes in
            let key = ConversationKey(Self.app, name: "trip")
            let seed = [ModelMessage(role: "system", content: "s"), ModelMessage(role: "user", content: "u")]
            let created = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        await relayCode {
                            _ = try await catalogue(processes).create(key, title: "T", messages: seed)
                        } == nil
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(created == 1)
            #expect(
                try await processes.sql("SELECT seq, name, message, opened FROM chatts ORDER BY seq")
                    == [["1", "system", "s", "1"], ["2", "user", "u", "1"]])
            try await processes.first.exchange("a", "1", in: "old")
            try await processes.sql("DELETE FROM chatterd_conversations WHERE appid = 'old'")
            #expect(
                await relayCode {
                    _ = try await catalogue(processes).create(
                        ConversationKey(Owner(app: "old")), title: nil, messages: [])
                } == .conversationExists)
        }
    }

    @Test func searchFindsTitlesAndMessages() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            try await store.exchange("Rome in May", "Take a coat.")
            try await store.exchange("100% sure_?", "It's \"fine\" \\ ok.", in: "app\u{1F}\u{1F}quotes")
            let titled = ConversationKey(Self.app, name: "empty")
            _ = try await catalogue(processes).create(titled, title: "A week in ROME", messages: [])
            for _ in 0..<5 {
                try await store.exchange(
                    "rome", String(repeating: "x", count: 300) + " ROME " + "y", in: "app\u{1F}\u{1F}many")
            }
            let query = CatalogueQuery(owner: Self.app, limit: 50)
            let found = try await catalogue(processes).search(query, for: "rOmE")
            #expect(found.hits.map(\.entry.key.name) == ["many", "empty", "app"] && found.next == nil)
            #expect(found.hits.map { $0.matches.map(\.seq) } == [[1, 2, 3], [], [1]])
            #expect(
                found.hits[2].matches.first?.excerpt == "Rome in May" && found.hits[2].matches.first?.role == "user")
            let excerpt = try #require(found.hits[0].matches.dropFirst().first?.excerpt)
            #expect(excerpt.count <= 200 && excerpt.contains("ROME"))
            for text in ["100%", "sure_", "'s \"", "\\ ok"] {
                #expect(
                    try await catalogue(processes).search(query, for: text).hits.map(\.entry.key.name) == ["quotes"],
                    "\(text)")
            }
            for text in ["%o%", "r_me", "none"] {
                #expect(try await catalogue(processes).search(query, for: text).hits.isEmpty, "\(text)")
            }
        }
    }

    @Test func searchContinuesWhereItStopped() async throws {
        try await StoreProcesses.run { processes in
            // Two conversations are longer than a piece, one is longer than a request, and many are short.
            try await processes.sql(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT E'app\\x1f\\x1fc' || c, n, 'user', CASE n WHEN s THEN 'needle' ELSE 'hay' END
                FROM (VALUES (1, 700), (2, 501), (3, 12000)) AS v (c, s), generate_series(1, s) AS n
                UNION ALL SELECT E'app\\x1f\\x1fd' || c, 1, 'user', 'needle ' || c FROM generate_series(1, 30) AS c;
                INSERT INTO chatterd_conversations (appid, owner) SELECT DISTINCT appid, E'app\\x1f\\x1f' FROM chatts
                """)
            for limit in [1, 4, 200] {
                var query = CatalogueQuery(owner: Self.app, limit: limit)
                var names: [String] = []
                var requests = 0
                repeat {
                    let page = try await catalogue(processes).search(query, for: "NEEDLE")
                    #expect(page.hits.count <= limit)
                    names += page.hits.map(\.entry.key.name)
                    query.position = page.next.flatMap { CataloguePosition(parsing: $0.text) }
                    requests += 1
                } while query.position != nil
                #expect(names.count == 33 && Set(names).count == 33)
                #expect(requests >= 2)
            }
        }
    }

    @Test func conversationsOfOthersNeverAppear() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let owners =
                ["app", "app2", "ap", "a%", "a_p", "a'p", "a\"p", "A"].map { Owner(app: $0) }
                + ["p", "%", "_", "p2", "app"].map { Owner(app: "app", person: $0) }
            let names: [String?] = [nil, "trip", "%", "_", "x'\"\\", "app|p|trip", "app2"]
            for owner in owners {
                for name in names {
                    let key = ConversationKey(owner, name: name)
                    try await store.exchange("secret of \(owner)", "1", in: key)
                }
            }
            for owner in owners {
                let keys = Set(names.map { ConversationKey(owner, name: $0) })
                let query = CatalogueQuery(owner: owner, limit: 100)
                #expect(Set(try await catalogue(processes).list(query).entries.map(\.key)) == keys)
                let hits = try await catalogue(processes).search(query, for: "SECRET").hits
                #expect(Set(hits.map(\.entry.key)) == keys && hits.count == keys.count)
                #expect(hits.allSatisfy { Set($0.matches.map(\.excerpt)) == ["secret of \(owner)"] })
                #expect(Set(try await catalogue(processes).keys(of: query, after: nil)) == keys)
            }
            // A credential that permits one conversation.
            var query = CatalogueQuery(owner: Self.app, limit: 100)
            query.names = ["trip"]
            let trip = [ConversationKey(Self.app, name: "trip")]
            #expect(try await catalogue(processes).list(query).entries.map(\.key) == trip)
            #expect(try await catalogue(processes).search(query, for: "secret").hits.map(\.entry.key) == trip)
            #expect(try await catalogue(processes).keys(of: query, after: nil) == trip)
        }
    }

    /// Which rows a list reads depends on its page and on the periods at its ends, and not on other rows of the owner or of others.
    @Test func listReadsTheRowsOfItsPageOnly() async throws {
        try await StoreProcesses.run { processes in
            try await processes.sql(
                """
                INSERT INTO chatterd_conversations (appid, owner)
                SELECT E'app' || n % 500 || E'\\x1f\\x1f' || n, E'app' || n % 500 || E'\\x1f\\x1f' FROM generate_series(1, 20000) AS n;
                INSERT INTO chatterd_conversations (appid, owner, updated_at, changed_in)
                SELECT E'big\\x1f\\x1f' || n, E'big\\x1f\\x1f', t, date_bin('10 min', t, 'epoch')
                FROM generate_series(1, 5000) AS n,
                    LATERAL (SELECT timestamptz '2026-01-01' + n * interval '1 min') AS c (t)
                """)
            let page = try await catalogue(processes).list(CatalogueQuery(owner: Owner(app: "app7"), limit: 100))
            #expect(page.entries.count == 40)
            for statistics in ["no statistics", "statistics"] {
                if statistics == "statistics" {
                    try await processes.sql("ANALYZE chatterd_conversations")
                }
                for archive in ["0", "1", "all"] {
                    for position in ["NULL, NULL", "'2026-01-02', E'big\\x1f\\x1f1440'"] {
                        for names in ["NULL", "ARRAY[E'big\\x1f\\x1f7']"] {
                            let query = "\(names), '\(archive)', \(position), false, 51"
                            let rows = try await rowsRead(by: query, processes)
                            // Each row of the page twice, and at most ten of the period at each end.
                            #expect(rows <= 150, "\(query) with \(statistics)")
                        }
                    }
                }
            }
        }
    }

    /// The number of rows of conversations that a list of the owner `big` reads, as the member role, without a look at the parameters.
    private func rowsRead(by query: String, _ processes: StoreProcesses) async throws -> Int {
        let list = CatalogueStatements.list(CatalogueQuery(owner: Owner(app: "big"), limit: 51)).bound
        let plan = try await processes.sql(
            """
            BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL ROLE chatterd_member;
            SET LOCAL chatterd.owner = E'big\\x1f\\x1f';
            PREPARE list(\(list.typeNames.joined(separator: ", "))) AS \(list.sql);
            EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, SUMMARY OFF) EXECUTE list(E'big\\x1f\\x1f', \(query)); COMMIT
            """
        ).map { $0.joined() }.joined(separator: "\n")
        let scans = plan.matches(of: #/on chatterd_conversations v\w* \(actual rows=(\d+) loops=(\d+)\)/#)
        let removed = plan.matches(of: #/Rows Removed by Filter: (\d+)/#)
        try #require(scans.count >= 2, "\(plan)")
        return scans.reduce(0) { $0 + (Int($1.1) ?? 0) * (Int($1.2) ?? 0) }
            + removed.reduce(0) { $0 + (Int($1.1) ?? 0) }
    }

    @Test(arguments: [
        "", ".", "..", "1.0", "1.0.", "1.0.6", "1.0.zz", "01.0.61", "1.0.1f", "-1.0.61", "1.-1.61", "1.0.ff", "1.0.61 ",
        "8000000000000000.0.61", "1.0.6A", "+1.0.61", "1.0." + String(repeating: "61", count: 156),
    ])
    func foreignCursorIsRefused(text: String) {
        #expect(CataloguePosition(parsing: text) == nil)
    }

    @Test func cursorKeepsItsPosition() throws {
        for name in ["a", "é\u{1f600} %&", String(repeating: "\u{1f600}", count: 155)] {
            let position = CataloguePosition(updatedAt: .max, name: name, seq: .max)
            #expect(CataloguePosition(parsing: position.text) == position)
            #expect(position.text.utf8.count <= CataloguePosition.maximumTextLength)
        }
    }

    private func change(_ body: String) throws -> ConversationChange {
        let bytes = Array(body.utf8)
        return try ConversationChange(decoding: bytes.span)
    }
}
