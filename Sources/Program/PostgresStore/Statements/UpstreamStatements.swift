import ChatterdIdentity
import ChatterdPostgres

/// The SQL of the list of model servers.
public enum UpstreamStatements {
    /// A model server as the table has it.
    public struct Listed: Sendable {
        public let name: String
        /// The JSON document.
        public let definition: [UInt8]
        /// `environment` or `api`.
        public let origin: String
        public let revision: Int
    }

    /// Serializes changes, so that the greatest revision is that of the last change.
    public static let lock = Query(
        Statement(
            "upstreams_lock", sql: "SELECT pg_advisory_xact_lock(x'757073747265616d'::bigint)"))

    /// Stores the model servers of an environment, and removes those that it has listed before. Servers added through the API stay.
    public static func seed(names: [String], definitions: [[UInt8]]) -> Query<Void> {
        Query(seedStatement, .textArray(names), .utf8Array(definitions))
    }

    private static let seedStatement = Statement(
        "seed_upstreams", .textArray, .textArray,
        sql: """
            WITH gone AS (
                DELETE FROM chatterd_upstreams WHERE origin = 'environment' AND name <> ALL ($1)
            )
            INSERT INTO chatterd_upstreams AS u (name, definition, origin, place, revision)
            SELECT name, definition, 'environment', place, nextval('chatterd_revisions')
            FROM unnest($1, $2) WITH ORDINALITY AS given (name, definition, place)
            ON CONFLICT (name) DO UPDATE
                SET definition = excluded.definition, place = excluded.place, revision = excluded.revision
                WHERE u.origin = 'environment'
                    AND (u.definition, u.place) IS DISTINCT FROM (excluded.definition, excluded.place)
            """)

    /// The greatest revision and the number of model servers: a change of the list changes one of them.
    public static let revision = Query(
        Statement(
            "upstreams_revision", sql: "SELECT coalesce(max(revision), 0), count(*) FROM chatterd_upstreams"
        ) { row in (revision: row.nextInt(), count: row.nextInt()) })

    /// All model servers, those of an environment first.
    public static let list = Query(
        Statement(
            "upstreams",
            sql: """
                SELECT name, definition, origin, revision FROM chatterd_upstreams ORDER BY origin DESC, place, name
                """
        ) { row in
            Listed(
                name: row.nextText(), definition: row.nextBytes(), origin: row.nextText(), revision: row.nextInt())
        })

    /// Adds a model server, if the name is free and there are fewer than `limit`, and an entry of the audit log. Returns its revision.
    public static func insert(name: String, definition: [UInt8], limit: Int, by actor: String) -> Query<Int> {
        Query(insertStatement, .text(name), .utf8(definition), .int8(limit), .text(actor))
    }

    private static let insertStatement = Statement(
        "insert_upstream", .text, .text, .int8, .text,
        sql: """
            WITH changed AS (
                INSERT INTO chatterd_upstreams (name, definition, origin, place, revision)
                SELECT $1, $2, 'api', n, n FROM nextval('chatterd_revisions') AS n
                WHERE (SELECT count(*) FROM chatterd_upstreams) < $3
                ON CONFLICT (name) DO NOTHING RETURNING revision
            ), \(audited(.upstreamAdded, by: "$4"))
            SELECT revision FROM changed
            """
    ) { row in
        row.nextInt()
    }

    /// Replaces a model server of any origin, and adds an entry of the audit log. Returns its revision.
    public static func replace(name: String, definition: [UInt8], by actor: String) -> Query<Int> {
        Query(replaceStatement, .text(name), .utf8(definition), .text(actor))
    }

    private static let replaceStatement = Statement(
        "replace_upstream", .text, .text, .text,
        sql: """
            WITH changed AS (
                UPDATE chatterd_upstreams SET definition = $2, origin = 'api', revision = nextval('chatterd_revisions')
                WHERE name = $1 RETURNING revision
            ), \(audited(.upstreamReplaced, by: "$3"))
            SELECT revision FROM changed
            """
    ) { row in
        row.nextInt()
    }

    /// Removes a model server, and adds an entry of the audit log. Returns the revision of the change.
    public static func remove(name: String, by actor: String) -> Query<Int> {
        Query(removeStatement, .text(name), .text(actor))
    }

    private static let removeStatement = Statement(
        "remove_upstream", .text, .text,
        sql: """
            WITH changed AS (
                DELETE FROM chatterd_upstreams WHERE name = $1 RETURNING nextval('chatterd_revisions') AS revision
            ), \(audited(.upstreamRemoved, by: "$2"))
            SELECT revision FROM changed
            """
    ) { row in
        row.nextInt()
    }

    /// A CTE, `audited`, that adds an entry about the model server $1 to the audit log if `changed` has a row.
    private static func audited(_ action: AuditEntry.Action, by actor: String) -> String {
        """
        audited AS (
            INSERT INTO chatterd_audit (actor, action, subject) SELECT \(actor), '\(action.rawValue)', $1 FROM changed
        )
        """
    }
}
