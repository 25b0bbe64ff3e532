import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The SQL of the feeds of conversations. A revision is committed after all smaller ones, so a snapshot with a revision has all events
/// up to it. Every statement except `heads` touches the rows of one conversation.
enum FeedStatements {
    /// The limit of the last event of a reply from which its end is described, in bytes.
    private static let lastEventLimit = 65_536
    /// The limit of running replies in the state of a conversation.
    private static let runningLimit = 64

    /// The heads of some conversations; no row for one that does not exist. The poll of a shard: it crosses owners.
    static func heads(of conversations: [ConversationKey]) -> Query<Followed> {
        Query(headsStatement, .textArray(conversations.map(\.text)))
    }

    /// A conversation that a feed follows.
    struct Followed {
        let conversation: ConversationKey
        let head: FeedHead
    }

    private static let headsStatement = Statement(
        "feed_heads", .textArray, returnsBinary: true,
        sql: """
            SELECT a.appid, coalesce(v.epoch, 0), coalesce(v.revision, 0), coalesce(v.base, 0)
            FROM unnest($1) AS a (appid) LEFT JOIN chatterd_conversations v ON v.appid = a.appid
            WHERE v.appid IS NOT NULL OR EXISTS (SELECT FROM chatts c WHERE c.appid = a.appid)
            """
    ) { row in
        Followed(conversation: ConversationKey(parsing: row.nextText()), head: head(&row))
    }

    private static func head(_ row: inout Row) -> FeedHead {
        FeedHead(epoch: Int64(row.nextInt()), revision: Int64(row.nextInt()), base: Int64(row.nextInt()))
    }

    /// The present state of a conversation; no row if it does not exist.
    static func state(of conversation: ConversationKey) -> Query<State> {
        Query(stateStatement, .text(conversation.text))
    }

    struct State {
        let head: FeedHead
        /// The number of the last row.
        let last: Int64
        let title: String?
        let isArchived: Bool
        /// The ids of running replies, with commas.
        let running: String
    }

    private static let stateStatement = Statement(
        "feed_state", after: .rowScope, .text, returnsBinary: true,
        sql: """
            SELECT coalesce(v.epoch, 0), coalesce(v.revision, 0), coalesce(v.base, 0), coalesce(l.seq, 0), v.title,
                v.archived_at IS NOT NULL, (
                    SELECT string_agg(n.id::text, ',' ORDER BY n.seq) FROM (
                        SELECT seq, id FROM chatts WHERE \(ReplyFloor.isRunning()) ORDER BY seq LIMIT \(runningLimit)) AS n)
            FROM (VALUES (1)) AS one
            LEFT JOIN chatterd_conversations v ON v.appid = $1
            LEFT JOIN LATERAL (SELECT seq FROM chatts WHERE appid = $1 ORDER BY seq DESC LIMIT 1) AS l ON true
            WHERE v.appid IS NOT NULL OR l.seq IS NOT NULL
            """
    ) { row in
        State(
            head: head(&row), last: Int64(row.nextInt()), title: row.nextOptionalText(), isArchived: row.nextBool(),
            running: row.nextText())
    }

    /// The head of a conversation with each of the next events behind a position: at most `limit` of them, and `bytes` bytes, but at least
    /// one. One row without an event if there is none; no row if the conversation does not exist.
    static func events(
        of conversation: ConversationKey, after position: FeedPosition, limit: Int, bytes: Int
    ) -> Query<Found> {
        Query(
            eventsStatement, .text(conversation.text), .int8(position.revision), .int8(position.number), .int8(limit),
            .int8(bytes))
    }

    struct Found {
        let head: FeedHead
        /// The number of events behind the position, as far as the statement has looked; 0 without an event.
        let count: Int
        /// `nil` without an event.
        let event: Event?
    }

    /// An event whose position lacks its epoch, and the number unless a row was added.
    struct Event {
        let revision: Int64
        /// The number of the added row; 0 for another change.
        let added: Int64
        let change: FeedEvent.Change
    }

    private static let text = "octet_length(c.message) + \(AttachmentStatements.size("c.extras"))"

    // Each branch has at most $4 events in the order of their revisions, so the first $4 of all are among them. A reply that has ended
    // since the position is above the floor of its row. If there are $4 added rows, an end of a row behind them comes after them.
    private static let eventsStatement = Statement(
        "feed_events", after: .rowScope, .text, .int8, .int8, .int8, .int8, returnsBinary: true,
        sql: """
            WITH head AS (
                SELECT epoch, revision, base FROM chatterd_conversations WHERE appid = $1
                UNION ALL
                SELECT 0, 0, 0 WHERE NOT EXISTS (SELECT FROM chatterd_conversations WHERE appid = $1)
                    AND EXISTS (SELECT FROM chatts WHERE appid = $1)
            ), added AS (
                SELECT c.opened AS revision, c.seq AS added,
                    CASE c.state WHEN 'prompt' THEN 'prompt' WHEN 'choice' THEN 'choice' ELSE 'reply' END AS kind,
                    c.seq, CASE c.state WHEN 'choice' THEN (SELECT r.id FROM chatts r WHERE r.appid = $1 AND r.seq = c.after)
                        ELSE c.id END AS id,
                    CASE c.state WHEN 'prompt' THEN c.name ELSE c.model END AS name,
                    CASE WHEN c.state = 'prompt' AND \(text) <= \(FeedEvent.textLimit) THEN c.message END AS text,
                    CASE WHEN c.state = 'prompt' AND \(text) <= \(FeedEvent.textLimit) THEN \(AttachmentStatements.members("c.extras", of: "$1")) END AS extras,
                    c.turn, c.time, CASE WHEN c.state = 'prompt' AND \(text) <= \(FeedEvent.textLimit) THEN \(text) ELSE 0 END AS size,
                    false AS flag
                FROM chatts c
                WHERE c.appid = $1 AND c.seq > $3 AND c.opened IS NOT NULL AND c.state IS NOT NULL
                ORDER BY c.seq LIMIT $4
            ), closed AS (
                SELECT c.closed, 0, 'end', c.seq, c.id, c.state,
                    CASE WHEN octet_length(c.last_event) <= \(lastEventLimit) THEN c.last_event END, NULL, c.turn,
                    coalesce(c.finished, c.time), 0, c.last_event IS NULL
                FROM chatts c WHERE c.appid = $1 AND c.closed > $2 AND c.seq > \(ReplyFloor.nearest(upTo: "$3"))
                    AND c.seq <= (SELECT CASE WHEN count(*) < $4 THEN 9223372036854775807 ELSE max(a.added) END FROM added a)
                ORDER BY c.closed LIMIT $4
            ), changed AS (
                SELECT revision, 0, 'settings', 0, NULL::uuid, title, NULL, NULL, 0, NULL::timestamptz, 0, archived
                FROM chatterd_changes WHERE appid = $1 AND revision > $2 ORDER BY revision LIMIT $4
            ), found AS (
                SELECT n.*, count(*) OVER () AS count, row_number() OVER event AS place, sum(size + 256) OVER event AS running
                FROM (TABLE added UNION ALL TABLE closed UNION ALL TABLE changed) AS n
                WINDOW event AS (ORDER BY n.revision, n.added)
            )
            SELECT h.epoch, h.revision, h.base, coalesce(e.count, 0), e.revision, e.added, e.kind, e.seq, e.id, e.name, e.text,
                e.extras, e.turn, \(StoredTime.microseconds("e.time")), e.flag
            FROM head h LEFT JOIN (
                SELECT * FROM found WHERE place = 1 OR place <= $4 AND running <= $5) AS e ON true
            ORDER BY e.place
            """
    ) { row in
        let head = head(&row)
        let count = row.nextInt()
        guard let revision = row.nextOptionalInt() else { return Found(head: head, count: 0, event: nil) }
        let added = Int64(row.nextInt())
        return Found(
            head: head, count: count, event: Event(revision: Int64(revision), added: added, change: change(&row)))
    }

    private static func change(_ row: inout Row) -> FeedEvent.Change {
        let kind = row.nextText()
        let seq = Int64(row.nextInt())
        let id = row.nextUUID().map { ReplyID(high: $0.high, low: $0.low) }
        let name = row.nextOptionalText()
        let text = row.nextField()
        let content = text.isNull ? nil : text.bytes.array
        let extras = row.nextBytes()
        let turn = Int64(row.nextInt())
        let time = Int64(row.nextInt())
        switch kind {
        case "prompt":
            return .prompt(
                FeedEvent.Prompt(role: name ?? "", content: content, extras: extras, turn: turn, time: time))
        case "choice": return .choice(id)
        case "settings": return .settings(title: name, isArchived: row.nextBool())
        case "end":
            var lastEvent = content ?? []
            // An event that is too long is there, and is left out.
            let isMissing = row.nextBool()
            if isMissing, let state = name.flatMap(ReplyState.init(rawValue:)) {
                lastEvent = ReplyEnding(state: state, lastEvent: []).described.lastEvent
            }
            return .end(
                id ?? ReplyID(high: 0, low: 0), seq: seq, state: name ?? "", lastEvent: lastEvent, time: time)
        default: return .reply(id ?? ReplyID(high: 0, low: 0), model: name ?? "", time: time)
        }
    }
}
