import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres

/// The SQL of the list of conversations. The index on owners finds the conversations of one owner, the latest ones first, and the primary
/// key of `chatts` their messages, so no statement reads a row of another owner.
enum CatalogueStatements {
    /// The number of messages at the start of a conversation that are examined for the first one of the user, and at its end for a
    /// reply that is being generated.
    static let examinedRows = 32
    /// The number of characters of a message that its opening has.
    static let openingLength = 400
    /// The number of messages of a conversation that a search returns.
    static let matchLimit = 3
    /// The limit of an excerpt, and the part of it before the text, in characters.
    static let excerptLength = 200
    static let excerptLead = 60

    /// The maximum number of conversations that a list is asked for.
    static let longestList = 400

    /// The next conversations of an owner, newest change first, at most `longestList`.
    ///
    /// - Parameter includesPosition: whether the conversation of the position comes first, if it has not changed.
    static func list(_ query: CatalogueQuery, includesPosition: Bool = false) -> Query<CatalogueEntry> {
        precondition(query.limit <= longestList)
        let position = query.position
        let key = position.map { ConversationKey(query.owner, name: $0.name).text }
        return Query(
            listStatement, .text(query.listedOwner), names(query), .text(query.archive.rawValue),
            position.map { .timestamp(microseconds: $0.updatedAt) } ?? .null, key.map { .text($0) } ?? .null,
            .boolean(includesPosition), .int8(query.limit))
    }

    /// The keys of the permitted conversations; NULL for all.
    private static func names(_ query: CatalogueQuery) -> Parameter {
        query.names.map { names in .textArray(names.map { ConversationKey(query.owner, name: $0).text }) } ?? .null
    }

    private static let listStatement = Statement(
        "list_conversations", after: .rowScope, .text, .textArray, .text, .timestamp, .text, .boolean, .int8,
        returnsBinary: true,
        sql: """
            WITH page AS MATERIALIZED (
                SELECT * FROM (
                    SELECT c.* FROM
                    unnest(CASE $3 WHEN '0' THEN '{t}' WHEN '1' THEN '{f}' ELSE '{t,f}' END::boolean[]) AS s (is_current)
                    CROSS JOIN LATERAL (
                        SELECT min(n.changed_in) AS first FROM (
                            SELECT * FROM (
                                SELECT v.changed_in FROM chatterd_conversations v WHERE \(isBehind)
                                ORDER BY v.changed_in DESC LIMIT \(longestList)) AS n
                            LIMIT $7) AS n
                        WHERE $2 IS NULL) AS e
                    CROSS JOIN LATERAL (
                        SELECT \(columns) FROM chatterd_conversations v WHERE \(isBehind) AND v.changed_in >= e.first
                        ORDER BY place DESC, v.appid DESC LIMIT $7) AS c
                    UNION ALL
                    SELECT \(columns) FROM chatterd_conversations v
                    WHERE v.appid = ANY ($2) AND v.owner || '' = $1 AND \(isPlacedBehind)
                        AND CASE $3 WHEN '0' THEN v.archived_at IS NULL WHEN '1' THEN v.archived_at IS NOT NULL ELSE true END
                ) AS a
                ORDER BY a.place DESC, a.appid DESC LIMIT $7
            )
            \(described) ORDER BY v.place DESC, v.appid DESC
            """
    ) { row in entry(&row) }

    // The first part of a list finds the period of the last row of the page, and the second one sorts the rows from there on. So whatever
    // the planner knows of the owner, it reads no more than the rows of the page and of the periods at its ends. The inner LIMIT is a number,
    // because the planner takes an unknown one for a tenth of the rows. `coalesce` in the place of `least` would keep the condition from the
    // index (docs/decisions/0033), and `|| ''` keeps the names of a credential from the index on owners.

    /// Whether the conversation `v` is one of owner $1, archived as `s` says, and behind the position.
    private static let isBehind = """
        v.owner = $1 AND (v.archived_at IS NULL) = s.is_current AND v.changed_in <= least($4, 'infinity') AND \(isPlacedBehind)
        """

    private static let isPlacedBehind = """
        ($4 IS NULL OR (\(ConversationRevision.place), v.appid) < ($4, $5)
            OR $6 AND (\(ConversationRevision.place), v.appid) = ($4, $5))
        """

    /// A conversation.
    static func entry(of conversation: ConversationKey) -> Query<CatalogueEntry> {
        Query(entryStatement, .text(conversation.text))
    }

    private static let entryStatement = Statement(
        "conversation_entry", after: .rowScope, .text, returnsBinary: true,
        sql: """
            WITH page AS MATERIALIZED (SELECT \(columns) FROM chatterd_conversations v WHERE v.appid = $1)
            \(described)
            """
    ) { row in entry(&row) }

    /// The first messages of a conversation for a title: at most `beginningRows` of them, and `beginningLength` characters of each.
    static func beginning(of conversation: ConversationKey) -> Query<Beginning> {
        Query(beginningStatement, .text(conversation.text))
    }

    struct Beginning {
        let role: String
        let text: String
        /// The model of the newest reply.
        let model: String?
    }

    private static let beginningRows = 6
    private static let beginningLength = 1_000

    private static let beginningStatement = Statement(
        "conversation_beginning", after: .rowScope, .text, returnsBinary: true,
        sql: """
            SELECT f.name, substr(f.message, 1, \(beginningLength)), (
                SELECT n.model FROM (
                    SELECT seq, model FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT \(examinedRows)) AS n
                WHERE n.model <> '' ORDER BY n.seq DESC LIMIT 1)
            FROM (SELECT seq, name, message FROM chatts WHERE appid = $1 ORDER BY seq LIMIT \(examinedRows)) AS f
            WHERE f.name IN ('user', 'assistant') AND f.message <> '' ORDER BY f.seq LIMIT \(beginningRows)
            """
    ) { row in
        Beginning(role: row.nextText(), text: row.nextText(), model: row.nextOptionalText())
    }

    private static let columns = """
        v.appid, v.title, v.created_at, v.updated_at, v.archived_at, \(ConversationRevision.place) AS place
        """

    private static let described = """
        SELECT v.appid, v.title,
            CASE WHEN v.title IS NULL THEN (
                SELECT substr(f.message, 1, \(openingLength)) FROM (
                    SELECT seq, name, message FROM chatts WHERE appid = v.appid ORDER BY seq LIMIT \(examinedRows)) AS f
                WHERE f.name = 'user' ORDER BY f.seq LIMIT 1) END,
            \(StoredTime.microseconds("v.created_at")), \(StoredTime.microseconds("v.updated_at")),
            v.archived_at IS NOT NULL,
            EXISTS (
                SELECT FROM (
                    SELECT state FROM chatts WHERE appid = v.appid ORDER BY seq DESC LIMIT \(examinedRows)) AS n
                WHERE n.state = 'streaming'),
            \(StoredTime.microseconds("v.place"))
        FROM page v
        """

    @Sendable private static func entry(_ row: inout Row) -> CatalogueEntry {
        CatalogueEntry(
            key: ConversationKey(parsing: row.nextText()), title: row.nextOptionalText(),
            opening: row.nextOptionalText(),
            createdAt: Int64(row.nextInt()), updatedAt: Int64(row.nextInt()), isArchived: row.nextBool(),
            isRunning: row.nextBool(), place: Int64(row.nextInt()))
    }

    /// Searches the messages of a conversation behind a number: at most `rows` of them, and `bytes` up to the end of the message that
    /// exceeds them. Case is that of the database's collation.
    static func search(
        _ conversation: ConversationKey, for text: String, after seq: Int64, rows: Int, bytes: Int
    ) -> Query<Found> {
        Query(searchStatement, .text(conversation.text), .int8(seq), .int8(rows), .int8(bytes), .text(text))
    }

    /// A matching message, or none, with the extent of the search.
    struct Found {
        /// The number of messages that were examined, and their size in bytes.
        let rows: Int
        let bytes: Int
        /// The `seq` of the last one.
        let last: Int64
        /// Whether the title of the conversation has the text.
        let isInTitle: Bool
        /// `nil` if no message has the text; the result has one row then.
        let match: SearchHit.Match?
    }

    private static let searchStatement = Statement(
        "search_conversation", after: .rowScope, .text, .int8, .int8, .int8, .text, returnsBinary: true,
        sql: """
            WITH piece AS MATERIALIZED (
                SELECT r.seq, r.name, r.message, r.size FROM (
                    SELECT n.*, sum(n.size) OVER (ORDER BY n.seq) AS running FROM (
                        SELECT seq, name, message, octet_length(message) AS size FROM chatts
                        WHERE appid = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS n) AS r
                WHERE r.running - r.size < $4
            )
            SELECT e.rows, e.bytes, e.last, coalesce((
                    SELECT position(lower($5) IN lower(title)) > 0 FROM chatterd_conversations WHERE appid = $1), false),
                m.seq, m.name, m.excerpt
            FROM (SELECT count(*) AS rows, sum(size)::bigint AS bytes, max(seq) AS last FROM piece) AS e
            LEFT JOIN (
                SELECT p.seq, p.name, substr(p.message, greatest(p.at - \(excerptLead), 1), \(excerptLength)) AS excerpt
                FROM (SELECT seq, name, message, position(lower($5) IN lower(message)) AS at FROM piece) AS p
                WHERE p.at > 0 ORDER BY p.seq LIMIT \(matchLimit)) AS m ON true
            ORDER BY m.seq
            """
    ) { row in
        let (rows, bytes, last, isInTitle) = (row.nextInt(), row.nextInt(), Int64(row.nextInt()), row.nextBool())
        let match = row.nextOptionalInt().map { seq in
            SearchHit.Match(seq: Int64(seq), role: row.nextText(), excerpt: row.nextText())
        }
        return Found(rows: rows, bytes: bytes, last: last, isInTitle: isInTitle, match: match)
    }

    /// Creates a conversation with messages. It inserts no row if the conversation exists. Returns a row if it has created it.
    ///
    /// - Parameter metadata: the metadata for the client, as JSON without braces; empty without any.
    static func create(
        _ key: ConversationKey, title: String?, messages: [ModelMessage], metadata: String = ""
    ) -> Query<Void> {
        Query(
            createStatement, .text(key.text), .text(key.owner.keyPrefix), title.map { .text($0) } ?? .null,
            .textArray(messages.map(\.role)), .textArray(messages.map(\.content)),
            .textArray(messages.map { $0.extras ?? "" }), .text(metadata))
    }

    private static let createStatement = Statement(
        "create_conversation", after: .rowScope, .text, .text, .text, .textArray, .textArray, .textArray, .text,
        sql: """
            WITH changed AS (
                INSERT INTO chatterd_conversations (appid, owner, title, metadata)
                SELECT $1, $2, $3, nullif($7, '') WHERE NOT EXISTS (SELECT FROM chatts WHERE appid = $1)
                ON CONFLICT (appid) DO NOTHING RETURNING revision
            ), added AS (
                INSERT INTO chatts (appid, seq, name, message, extras, opened, floor)
                SELECT $1, p.ordinal, p.name, p.message, nullif(p.extras, ''), changed.revision, p.ordinal - 1
                FROM changed, unnest($4, $5, $6) WITH ORDINALITY AS p (name, message, extras, ordinal)
            )
            SELECT FROM changed
            """)

    /// Changes a conversation in part. Adds the row of a conversation that an earlier version has written.
    static func change(_ key: ConversationKey, _ change: ConversationChange) -> Query<Void> {
        let title: Parameter =
            switch change.title {
            case .unchanged, .removed: .null
            case .set(let title): .text(title)
            }
        return Query(
            changeStatement, .text(key.text), .text(key.owner.keyPrefix), .boolean(change.title != .unchanged), title,
            change.isArchived.map { .boolean($0) } ?? .null)
    }

    private static let changeStatement = Statement(
        "change_conversation", after: .rowScope, .text, .text, .boolean, .text, .boolean,
        sql: """
            WITH changed AS (
                INSERT INTO chatterd_conversations AS v (appid, owner, title, archived_at)
                SELECT $1, $2, $4, CASE WHEN $5 THEN now() END
                WHERE EXISTS (SELECT FROM chatterd_conversations WHERE appid = $1)
                    OR EXISTS (SELECT FROM chatts WHERE appid = $1)
                ON CONFLICT (appid) DO UPDATE SET
                    title = CASE WHEN $3 THEN $4 ELSE v.title END, \(ConversationRevision.listed("v")),
                    archived_at = CASE WHEN $5 THEN coalesce(v.archived_at, now()) WHEN $5 IS NULL THEN v.archived_at END,
                    revision = v.revision + 1, \(ConversationRevision.changedNow)
                RETURNING v.revision, v.title, v.archived_at
            )
            \(logged)
            """)

    /// The metadata of a conversation for the client, as JSON without braces; empty without any.
    static func metadata(of key: ConversationKey) -> Query<String> { Query(metadataStatement, .text(key.text)) }

    private static let metadataStatement = Statement(
        "conversation_metadata", after: .rowScope, .text, returnsBinary: true,
        sql: "SELECT metadata FROM chatterd_conversations WHERE appid = $1"
    ) { row in
        row.nextText()
    }

    /// Replaces the metadata of a conversation. The transaction has changed its row before.
    static func setMetadata(_ metadata: String, of key: ConversationKey) -> Query<Void> {
        Query(setMetadataStatement, .text(key.text), .text(metadata))
    }

    private static let setMetadataStatement = Statement(
        "set_metadata", after: .rowScope, .text, .text,
        sql: "UPDATE chatterd_conversations SET metadata = nullif($2, '') WHERE appid = $1")

    /// Gives a conversation the title that was made for it, unless it has a title by now.
    static func titled(_ key: ConversationKey, _ title: String) -> Query<Void> {
        Query(titledStatement, .text(key.text), .text(key.owner.keyPrefix), .text(title))
    }

    private static let titledStatement = Statement(
        "title_conversation", after: .rowScope, .text, .text, .text,
        sql: """
            WITH changed AS (
                INSERT INTO chatterd_conversations AS v (appid, owner, title)
                SELECT $1, $2, $3
                WHERE EXISTS (SELECT FROM chatterd_conversations WHERE appid = $1)
                    OR EXISTS (SELECT FROM chatts WHERE appid = $1)
                ON CONFLICT (appid) DO UPDATE SET
                    title = $3, revision = v.revision + 1, \(ConversationRevision.changedNow)
                    WHERE v.title IS NULL
                RETURNING v.revision, v.title, v.archived_at
            )
            \(logged)
            """)

    /// Adds the change in `changed` to the log of feeds.
    private static let logged = """
        INSERT INTO chatterd_changes (appid, revision, title, archived)
        SELECT $1, revision, title, archived_at IS NOT NULL FROM changed
        """

    /// Keeps the newest changes in the log of a conversation. A feed that has not reached an older one starts over.
    static func trimLog(of key: ConversationKey) -> Query<Void> { Query(trimLogStatement, .text(key.text)) }

    private static let trimLogStatement = Statement(
        "trim_changes", after: .rowScope, .text,
        sql: """
            WITH gone AS (
                DELETE FROM chatterd_changes WHERE appid = $1 AND revision <= (
                    SELECT revision FROM chatterd_changes WHERE appid = $1 ORDER BY revision DESC
                    OFFSET \(FeedReader.loggedChanges) LIMIT 1)
                RETURNING revision
            )
            UPDATE chatterd_conversations SET base = greatest(base, (SELECT max(revision) FROM gone))
            WHERE appid = $1 AND EXISTS (SELECT FROM gone)
            """)

    /// The next conversations of an owner behind a key, single requests included, in the order of keys.
    static func keys(of query: CatalogueQuery, after key: ConversationKey?) -> Query<ConversationKey> {
        Query(
            keysStatement, .text(query.owner.keyPrefix), names(query), .text(key?.text ?? ""), .int8(query.limit),
            .text(ConversationKey.singleOwner(of: query.owner)))
    }

    private static let keysStatement = Statement(
        "conversation_keys", after: .rowScope, .text, .textArray, .text, .int8, .text,
        sql: """
            SELECT appid FROM chatterd_conversations
            WHERE owner IN ($1, $5) AND ($2 IS NULL OR appid = ANY ($2)) AND appid > $3 ORDER BY appid LIMIT $4
            """
    ) { row in ConversationKey(parsing: row.nextText()) }
}
