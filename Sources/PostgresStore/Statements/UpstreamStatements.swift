import ChatterdPostgres

/// The SQL of the list of model servers.
public enum UpstreamStatements {
    /// Has one change after the other: the greatest revision is that of the last one.
    public static let lock = Statement(
        "upstreams_lock", sql: "SELECT pg_advisory_xact_lock(x'757073747265616d'::bigint)")

    /// Writes what an environment lists, and removes what one has listed before; what came through the API stays.
    public static let seed = Statement(
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

    /// The greatest revision, and the number of rows.
    public static let look = Statement(
        "look_at_upstreams", sql: "SELECT coalesce(max(revision), 0), count(*) FROM chatterd_upstreams")

    /// All of them, those of an environment first.
    public static let list = Statement(
        "upstreams",
        sql: """
            SELECT name, definition, origin, revision FROM chatterd_upstreams ORDER BY origin DESC, place, name
            """)

    /// Adds one, if the name is free and there are fewer than $3; gives its revision.
    public static let insert = Statement(
        "insert_upstream", .text, .text, .int8,
        sql: """
            INSERT INTO chatterd_upstreams (name, definition, origin, place, revision)
            SELECT $1, $2, 'api', n, n FROM nextval('chatterd_revisions') AS n
            WHERE (SELECT count(*) FROM chatterd_upstreams) < $3
            ON CONFLICT (name) DO NOTHING RETURNING revision
            """)

    /// Replaces one, wherever it came from; gives its revision.
    public static let replace = Statement(
        "replace_upstream", .text, .text,
        sql: """
            UPDATE chatterd_upstreams SET definition = $2, origin = 'api', revision = nextval('chatterd_revisions')
            WHERE name = $1 RETURNING revision
            """)

    /// Removes one; gives a number of its own to the change.
    public static let remove = Statement(
        "remove_upstream", .text,
        sql: "DELETE FROM chatterd_upstreams WHERE name = $1 RETURNING nextval('chatterd_revisions')")
}
