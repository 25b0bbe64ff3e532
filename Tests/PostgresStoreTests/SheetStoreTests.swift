import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdTestSupport
import Testing

@testable import ChatterdPostgresStore

/// Sheets: the rows of the journal that have text of many replies.
@Suite(.timeLimit(.minutes(30))) struct SheetStoreTests {
    @Test func replyOfADeadProcessIsClosedWithItsTextOnSheets() async throws {
        try await StoreProcesses.run { processes in
            let (dead, other) = (processes.first, processes.second)
            let (opened, neighbour) = (try await dead.open("p"), try await dead.open("q", in: "other"))
            var position = ReplyPosition()
            var slot = SheetSlot()
            for piece in ["Grüße", " aus", " 東京", "👋"] {
                let batch = dead.makeJournalBatch()
                let entry = opened.entry(
                    from: position, piece, thinking: "\(piece)?", calls: position.total == 0 ? "{}" : ",{}")
                batch.appendToSheet(entry, slot: &slot)
                var foreign = SheetSlot()
                batch.appendToSheet(neighbour.entry("foreign"), slot: &foreign)
                #expect(try await dead.journal([batch]).signals.isEmpty)
                position = entry.page.end
            }
            try await processes.kill(dead)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(
                try await processes.sql(
                    "SELECT message, thinking, extras, state FROM chatts WHERE turn = seq AND appid = 'app'")
                    == [["Grüße aus 東京👋", "Grüße? aus? 東京?👋?", "\"tool_calls\":[{},{},{},{}]", "interrupted"]])
        }
    }

    @Test func piecesOfOnePartShareASlot() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("p")
            var slot = SheetSlot()
            for (start, text) in [(0, "ab"), (2, "cd"), (4, "ef")] {
                let batch = processes.first.makeJournalBatch()
                batch.appendToSheet(opened.entry(from: ReplyPosition(text: start), text), slot: &slot)
                _ = try await processes.first.journal([batch])
            }
            #expect(
                try await processes.sql("SELECT opened, slots, starts, texts FROM chatterd_sheets ORDER BY starts")
                    == [["{1}", "{1}", "{0}", "{ab}"], ["{}", "{1}", "{2}", "{cd}"], ["{}", "{1}", "{4}", "{ef}"]])
        }
    }

    @Test func repliesOfOneProcessAreSettledTogether() async throws {
        try await StoreProcesses.run { processes in
            let dead = processes.first
            var opened: [StoredTurn] = []
            for index in 0..<50 {
                opened.append(try await dead.open("p", in: "app\(index)"))
            }
            try await dead.journalOnSheet(opened.map { $0.entry("text of \($0.turn.conversation.text)") })
            try await processes.kill(dead, isNoticed: true)
            _ = try await processes.pool.run(SettlementStatements.settleAbandoned(limit: 100))
            let rows = try await processes.sql("SELECT appid, message, state FROM chatts WHERE turn = seq")
            #expect(rows.count == 50 && rows.allSatisfy { $0[1] == "text of \($0[0])" && $0[2] == "interrupted" })
        }
    }

    @Test func rowsAndSheetsOfAReplyAreJoined() async throws {
        try await StoreProcesses.run { processes in
            let (dead, other) = (processes.first, processes.second)
            let opened = try await dead.open("p")
            // The sheets repeat a part of the rows.
            _ = try await dead.journal([opened.entry("abcd")])
            try await dead.journalOnSheet([opened.entry(from: ReplyPosition(text: 2), "cdef")])
            try await dead.journalOnSheet([opened.entry(from: ReplyPosition(text: 6), "gh")])
            try await dead.journalOnSheet([opened.entry("abcdefgh")])
            try await processes.kill(dead)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(
                try await processes.sql("SELECT message, last_event FROM chatts WHERE turn = seq")
                    == [["abcdefgh", "<null>"]])
        }
    }

    @Test(arguments: ["text", "thinking"])
    func textBehindAGapIsNotStored(part: String) async throws {
        try await StoreProcesses.run { processes in
            let (dead, other) = (processes.first, processes.second)
            let opened = try await dead.open("p")
            func entry(_ start: Int, _ text: String) -> JournalEntry {
                part == "text"
                    ? opened.entry(from: ReplyPosition(text: start), text)
                    : opened.entry(from: ReplyPosition(thinking: start), thinking: text)
            }
            try await dead.journalOnSheet([entry(0, "abc")])
            try await dead.journalOnSheet([entry(6, "ghi")])
            try await dead.journalOnSheet([
                opened.entry(from: part == "text" ? ReplyPosition(text: 9) : ReplyPosition(thinking: 9), "late")
            ])
            try await processes.kill(dead)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            let row = try await processes.sql(
                "SELECT message || coalesce(thinking, ''), last_event LIKE '%text_lost%' FROM chatts WHERE turn = seq")
            #expect(row == [["abc", "t"]])
        }
    }

    @Test func lostEndOfThoughtsAlsoDropsTheText() async throws {
        try await StoreProcesses.run { processes in
            let (dead, other) = (processes.first, processes.second)
            let opened = try await dead.open("p")
            try await dead.journalOnSheet([opened.entry(thinking: "abc")])
            // The sheet with three more bytes of thoughts is lost.
            try await dead.journalOnSheet([opened.entry(from: ReplyPosition(thinking: 6), "text")])
            try await processes.kill(dead)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(
                try await processes.sql("SELECT message, thinking FROM chatts WHERE turn = seq") == [["", "abc"]])
        }
    }

    @Test func sheetsOfAnEarlierAttemptDoNotCount() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            try await store.journalOnSheet([opened.entry("old")])
            #expect(try await store.restartTurn(opened.turn, id: opened.id, attempt: 1) == 2)
            try await store.journalOnSheet([opened.entry(from: ReplyPosition(attempt: 2), "new")])
            try await store.journalOnSheet([opened.entry(from: ReplyPosition(text: 3), "late")])
            try await processes.kill(store)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(try await processes.sql("SELECT message FROM chatts WHERE turn = seq") == [["new"]])
        }
    }

    @Test func closeNeedsNoSheet() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            try await store.journalOnSheet([opened.entry("abc")])
            try await processes.sql("TRUNCATE chatterd_sheets")
            try await store.closeTurn(opened.turn, with: opened.closing("abcdef"))
            #expect(try await processes.sql("SELECT message FROM chatts WHERE turn = seq") == [["abcdef"]])
        }
    }

    @Test func closeJoinsTheRowsWithTheMemoryOfTheProcess() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            _ = try await store.journal([opened.entry("abcd")])
            let end = ReplyPosition(text: 4)
            try await store.journalOnSheet([opened.entry(from: end, "efgh")])
            try await store.closeTurn(opened.turn, with: opened.closing("efghij", behind: end))
            #expect(
                try await processes.sql("SELECT message, state FROM chatts WHERE turn = seq")
                    == [["abcdefghij", "complete"]])
        }
    }

    @Test func ownerIsLookedUpWhenTheBatchSaysSo() async throws {
        try await StoreProcesses.run { processes in
            let (zombie, other) = (processes.first, processes.second)
            let opened = try await zombie.open("p")
            try await zombie.journalOnSheet([opened.entry("abc")])
            try await processes.kill(zombie)
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            let more = opened.entry(from: ReplyPosition(text: 3), "def")
            #expect(try await zombie.journalOnSheet([more]).signals.isEmpty)
            #expect(
                try await zombie.journalOnSheet([more], checksOwner: true).signals
                    == [ReplySignal(id: opened.id, kind: .gone)])
            #expect(
                try await processes.sql("SELECT message, state FROM chatts WHERE turn = seq") == [
                    ["abc", "interrupted"]
                ])
        }
    }

    @Test func requestReadsNoSheetOfAnotherOwner() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("p", in: "mine")
            try await processes.first.journalOnSheet([opened.entry("secret")])
            let pieces = "SELECT count(*) FROM chatterd_sheet_pieces(ARRAY(SELECT id FROM c))"
            func count(_ owner: String) async throws -> String {
                let rows = try await processes.sql(
                    """
                    BEGIN;
                    CREATE TEMPORARY TABLE c ON COMMIT DROP AS SELECT id FROM chatts WHERE turn = seq;
                    GRANT SELECT ON c TO PUBLIC;
                    DO $$ BEGIN PERFORM set_config('chatterd.owner', \(owner), true); END $$;
                    SET LOCAL role chatterd_member;
                    \(pieces);
                    COMMIT
                    """)
                return rows.last?.first ?? ""
            }
            #expect(try await count("'mine' || E'\\x1F\\x1F'") == "1")
            #expect(try await count("'*'") == "1")
            #expect(try await count("'foreign' || E'\\x1F\\x1F'") == "0")
            #expect(try await count("''") == "0")
        }
    }

    @Test(arguments: ["SELECT * FROM chatterd_sheets", "SELECT chatterd_turn_sheets('0', 0, '0')"])
    func requestHasNoOtherAccessToSheets(sql: String) async throws {
        try await StoreProcesses.run { processes in
            await #expect(throws: (any Error).self) {
                try await processes.sql("BEGIN; SET LOCAL role chatterd_member; \(sql); COMMIT")
            }
        }
    }

    // MARK: - Tables

    @Test func tableIsTruncatedWhenNoProcessNeedsIt() async throws {
        try await StoreProcesses.run { processes in
            let (store, other) = (processes.first, processes.second)
            let opened = try await store.open("p")
            _ = try await other.open("q", in: "other")
            try await store.journalOnSheet([opened.entry("abc")])
            #expect(try await Self.turn(processes) == 2)
            // Neither process has released the first table.
            #expect(try await Self.turn(processes) == 2)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets_1") == [["1"]])
            #expect(try await store.journalOnSheet([opened.entry("abc")]).generation == 2)
            for store in [store, other] {
                #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets_1") == [["1"]])
                store.releaseSheets(before: 2)
                _ = try await processes.pool.run(store.lease.renewal)
                #expect(try await Self.turn(processes) == (store === other ? 3 : 2))
            }
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets_1") == [["0"]])
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets_2") == [["1"]])
            #expect(
                try await processes.sql("SELECT number, generation FROM chatterd_sheet_tables ORDER BY number")
                    == [["1", "3"], ["2", "2"]])
        }
    }

    @Test func emptyTableIsNotFollowedByAnother() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.first.open("p")
            for _ in 0..<3 {
                #expect(try await Self.turn(processes) == 1)
            }
        }
    }

    @Test func youngTableStaysInUse() async throws {
        try await StoreProcesses.run { processes in
            let opened = try await processes.first.open("p")
            try await processes.first.journalOnSheet([opened.entry("abc")])
            try await processes.sql("UPDATE chatterd_sheet_tables SET opened_at = now() + interval '1 day'")
            #expect(try await processes.pool.run(SheetStatements.turn).first == 1)
            try await processes.sql("UPDATE chatterd_sheet_tables SET opened_at = now() - interval '1 day'")
            #expect(try await processes.pool.run(SheetStatements.turn).first == 2)
        }
    }

    @Test func releasedReplyKeepsItsTable() async throws {
        try await StoreProcesses.run { processes in
            let (dead, other) = (processes.first, processes.second)
            let opened = try await dead.open("p")
            try await dead.journalOnSheet([opened.entry("abc")])
            #expect(try await Self.turn(processes) == 2)
            try await processes.kill(dead, isNoticed: true)
            try await processes.sql("DELETE FROM chatterd_processes")
            #expect(try await Self.turn(processes) == 2)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets_1") == [["1"]])
            #expect(try await other.settleTurn(opened.turn, isAbandonedHere: false, closesRegenerated: false))
            #expect(try await processes.sql("SELECT message FROM chatts WHERE turn = seq") == [["abc"]])
            #expect(try await Self.turn(processes) == 2)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets") == [["0"]])
        }
    }

    @Test func processOfAnEarlierVersionNeedsNoSheet() async throws {
        try await StoreProcesses.run { processes in
            try await processes.proveSteadiness()
            let opened = try await processes.first.exchange("p", "q")
            try await processes.first.journalOnSheet([opened.entry("abc")])
            processes.first.releaseSheets(before: 2)
            _ = try await processes.pool.run(processes.first.lease.renewal)
            #expect(try await Self.turn(processes) == 2)
            #expect(try await Self.turn(processes) == 2)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets") == [["0"]])
        }
    }

    @Test func processWithUnknownRepliesKeepsItsSheets() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            _ = try await store.open("p")
            store.lease.markUncertain()
            store.releaseSheets(before: 2)
            _ = try await processes.pool.run(store.lease.renewal)
            #expect(try await processes.sql("SELECT sheets FROM chatterd_processes") == [["1"]])
            while store.lease.uncertainRoundsLeft > 0 {
                store.lease.consumeUncertainty()
            }
            store.releaseSheets(before: 2)
            _ = try await processes.pool.run(store.lease.renewal)
            #expect(try await processes.sql("SELECT sheets FROM chatterd_processes") == [["2"]])
        }
    }

    @Test func dumpPinsOnlyTheTablesThatItHasFound() async throws {
        try await StoreProcesses.run { processes in
            let store = processes.first
            let opened = try await store.open("p")
            try await store.journalOnSheet([opened.entry("abc")])
            let dump = try await Dump(of: processes.conninfo)
            for generation: Int32 in 2..<8 {
                #expect(try await Self.turn(processes) == generation)
                #expect(try await store.journalOnSheet([opened.entry("abc")]).generation == generation)
                store.releaseSheets(before: generation)
                _ = try await processes.pool.run(store.lease.renewal)
            }
            // The two tables of the dump, and two more that take turns.
            let tables = try await processes.sql("SELECT number FROM chatterd_sheet_tables ORDER BY number")
            #expect(tables == [["1"], ["2"], ["3"], ["4"]])
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets_2") == [["0"]])
            try await dump.end()
            #expect(try await Self.turn(processes) == 8)
            #expect(
                try await processes.sql("SELECT number FROM chatterd_sheet_tables ORDER BY number").count <= 4)
            #expect(try await processes.sql("SELECT count(*) FROM chatterd_sheets_1") == [["0"]])
        }
    }

    @Test func tablesOfSheetsHaveTheStorageOfTheirParent() async throws {
        try await StoreProcesses.run { processes in
            let storages = try await processes.sql(
                """
                SELECT DISTINCT attstorage FROM pg_attribute WHERE attrelid = 'chatterd_sheets_1'::regclass AND attnum > 1
                """)
            #expect(storages == [["e"]])
        }
    }

    /// Turns the tables whatever their age.
    private static func turn(_ processes: StoreProcesses) async throws -> Int32? {
        let rows = try await processes.sql("SELECT chatterd_turn_sheets(interval '0', 0, interval '0')")
        return rows.first.flatMap { Int32($0[0]) }
    }
}

/// A transaction that reads all tables until it ends, as `pg_dump` does.
private final class Dump: Sendable {
    private let conninfo: String
    private static let name = "dump of sheets"

    init(of conninfo: String) async throws {
        self.conninfo = conninfo
        startThread {
            _ = try? PrivateCluster.shared().query(
                """
                SET application_name = '\(Self.name)'; BEGIN ISOLATION LEVEL REPEATABLE READ;
                LOCK TABLE chatts, chatterd_sheets IN ACCESS SHARE MODE; SELECT count(*) FROM chatts; SELECT pg_sleep(3600)
                """, database: conninfo)
        }
        try await blocking {
            try eventually("the dump has its locks", isTrue: { try Self.locks(in: conninfo) > 0 })
        }
    }

    /// Ends the transaction, and waits until its locks are gone.
    func end() async throws {
        try await blocking { [conninfo] in
            try PrivateCluster.shared().query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = '\(Self.name)' AND datname = current_database()
                """, database: conninfo)
            try eventually("the locks are gone", isTrue: { try Self.locks(in: conninfo) == 0 })
        }
    }

    private static func locks(in conninfo: String) throws -> Int {
        let rows = try PrivateCluster.shared().query(
            """
            SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
            WHERE a.application_name = '\(name)' AND l.relation = 'chatterd_sheets_2'::regclass AND l.granted
                AND a.datname = current_database()
            """, database: conninfo)
        return rows.first?.first.flatMap { Int($0) } ?? 0
    }
}
