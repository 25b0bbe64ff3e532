/// The SQL of `chatts.floor`: no reply with a number up to it was running when its row was added. So the running replies of a
/// conversation, and those that have ended since a row was added, are found between a floor and the last row, without an index that the
/// end of a reply would change (docs/decisions/0041-hot-updates.md).
///
/// A row whose floor is the number before it was added when no reply was running. The row of a reply behind it has that property too, if
/// the reply before has ended: most rows get their floor from the row above, and the statement reads no other one.
enum ReplyFloor {
    /// The distance from which the floor of a new row is searched, in rows. Nearer ones are taken from the row above.
    private static let nearby = 64

    /// The number up to which no reply is running now, as far as the last row `t` of a conversation says; null if it does not say.
    static func known(by tip: String) -> String {
        """
        CASE WHEN \(tip).seq IS NULL THEN 0
            WHEN \(tip).floor = \(tip).seq - 1 AND \(tip).state IS DISTINCT FROM 'streaming' THEN \(tip).seq ELSE \(tip).floor END
        """
    }

    /// The floor of the row `number` that is added to a conversation behind the row `l` of `ConversationStatements.tip`, at the change in
    /// `changed`. It is null if rows may have been removed since the statement began: those that it has read may be gone.
    static func added(as number: String, to conversation: String = "$1") -> String {
        """
        CASE WHEN l.last > 0 AND (changed.base <= l.opened AND l.opened < changed.revision) IS NOT TRUE THEN NULL
            WHEN l.floor = l.last THEN \(number) - 1
            WHEN l.last - l.floor < \(nearby) THEN l.floor
            ELSE chatterd_floor(\(conversation), l.floor, l.last, \(number)) END
        """
    }

    /// The floor of the conversation $1 at the row `upTo`, or at its last row; 0 if no row says it. `greatest` in the place of coalesce: see
    /// `TransactionPreamble.rowScope`.
    static func nearest(upTo row: String? = nil) -> String {
        """
        greatest((
            SELECT f.floor FROM chatts f WHERE f.appid = $1 AND f.floor IS NOT NULL\(row.map { " AND f.seq <= \($0)" } ?? "")
            ORDER BY f.seq DESC LIMIT 1), 0)
        """
    }

    /// Whether `table` is a running reply of the conversation $1.
    static func isRunning(_ table: String = "") -> String {
        "\(table)appid = $1 AND \(table)seq > \(nearest()) AND \(table)state = 'streaming'"
    }
}
