import ChatterdPostgres
import ChatterdRelay

/// The SQL of sheets: rows of the journal that have the text of many replies (docs/decisions/0038-sheets.md).
enum SheetStatements {
    /// The age at which a table of sheets with rows is followed by the next one, in seconds. Its text is removed soon after.
    static let age = 60
    /// The size at which a table of sheets is followed by the next one, in bytes, if it has the least age.
    static let size = 16 << 20
    /// The age up to which a table of sheets stays in use, whatever its size, in seconds.
    static let leastAge = 15

    /// Writes a sheet, if there are pieces. Returns the generation of the current table of sheets.
    static func write(_ columns: [SheetColumns], owner: ReplyID) -> Query<Int32> {
        Query(
            writeStatement, .uuid(owner), .array(of: .int4, columns.map(\.opened)),
            .array(of: .uuid, columns.map(\.replies)), .array(of: .int4, columns.map(\.attempts)),
            .array(of: .int4, columns.map(\.parts)), .array(of: .int4, columns.map(\.others)),
            .array(of: .int4, columns.map(\.slots)), .array(of: .int4, columns.map(\.starts)),
            .array(of: .text, columns.map(\.texts)))
    }

    private static let writeStatement = Statement(
        "write_sheet", .uuid, .int4Array, .uuidArray, .int4Array, .int4Array, .int4Array, .int4Array, .int4Array,
        .textArray,
        sql: "SELECT chatterd_write_sheet($1, $2, $3, $4, $5, $6, $7, $8, $9)"
    ) { row in
        Int32(truncatingIfNeeded: row.nextInt())
    }

    /// The replies among these that a process does not own, or that are closed.
    ///
    /// The statement looks up each reply separately, because the planner does not know how many there are.
    static func lost(among columns: [OwnedColumns], owner: ReplyID) -> Query<ReplyID> {
        Query(
            lostStatement, .uuid(owner), .array(of: .text, columns.map(\.conversations)),
            .array(of: .int8, columns.map(\.numbers)), .array(of: .uuid, columns.map(\.replies)),
            .array(of: .int8, columns.map(\.attempts)))
    }

    private static let lostStatement = Statement(
        "lost_replies", .uuid, .textArray, .int8Array, .uuidArray, .int8Array, returnsBinary: true,
        sql: """
            SELECT e.reply
            FROM unnest($2, $3, $4, $5) AS e (appid, seq, reply, attempt)
            LEFT JOIN LATERAL (
                SELECT id FROM chatts
                WHERE appid = e.appid AND seq = e.seq AND id = e.reply AND \(ReplyStatements.isOwned("", by: "$1", attempt: "e.attempt"))
                LIMIT 1) AS c ON true
            WHERE c.id IS NULL
            """
    ) { row in
        row.nextReplyID()
    }

    /// Truncates the tables of sheets that no process needs, and begins the next one if it is time. Returns the current generation.
    static let turn = Query(
        Statement(
            "turn_sheets",
            sql: "SELECT chatterd_turn_sheets(interval '\(age) s', \(size), interval '\(leastAge) s')"
        ) { row in
            Int32(truncatingIfNeeded: row.nextInt())
        })

    /// Turns the tables of sheets whatever their age, if no process is alive.
    static let finish = Query(
        Statement(
            "finish_sheets",
            sql: """
                SELECT chatterd_turn_sheets(interval '0', 0, interval '0')
                WHERE NOT EXISTS (SELECT FROM chatterd_processes WHERE expires_at > now())
                """))
}
