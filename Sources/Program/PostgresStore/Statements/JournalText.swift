/// The SQL that puts the text of replies together from their journal.
enum JournalText {
    /// The rows that the journal has of the replies in `source` alone, as far as they begin before a limit.
    static func rows(of source: String, until limit: String) -> String {
        """
        SELECT j.reply, j.start, j.text_at, j.thinking_at, j.calls_at, j.text, j.thinking, j.calls
        FROM \(source) r
        JOIN chatterd_journal j
            ON j.appid = r.appid AND j.reply = r.id AND j.attempt = r.attempt AND j.start < \(limit)
        """
    }

    /// The rows of the replies in `source`, and their pieces in sheets.
    static func allPieces(of source: String) -> String {
        """
        \(rows(of: source, until: "9223372036854775807"))
        UNION ALL
        SELECT s.reply, s.start, s.text_at, s.thinking_at, s.calls_at, s.text, s.thinking, s.calls
        FROM chatterd_sheet_pieces(ARRAY(SELECT id FROM \(source))) s
        JOIN \(source) r ON r.id = s.reply AND r.attempt = s.attempt
        """
    }

    /// The journal of the replies in `source`, in order, up to the first gap. Bytes that two pieces share count once. `is_cut` says
    /// whether pieces exist behind a gap.
    ///
    /// A gap precedes a piece if it starts beyond the end of all pieces before it, or if any of its parts starts beyond the end of that
    /// part in the pieces before it. All later pieces are behind the gap too. So a loss of thoughts also drops the text that follows them.
    static func folded(_ source: String, _ pieces: String) -> String {
        func part(_ name: String) -> String {
            """
            coalesce(string_agg(
                CASE WHEN \(name)_had <= \(name)_at THEN \(name)
                ELSE convert_from(substring(convert_to(\(name), 'UTF8'), (\(name)_had - \(name)_at + 1)::integer), 'UTF8') END,
                '' ORDER BY start) FILTER (WHERE NOT is_lost), '') AS \(name)
            """
        }
        func had(_ name: String) -> String {
            "coalesce(max(j.\(name)_at + octet_length(j.\(name))) OVER before, 0) AS \(name)_had"
        }
        return """
            pieces AS (
                SELECT p.*, bool_or(start > had OR text_at > text_had OR thinking_at > thinking_had OR calls_at > calls_had)
                    OVER (PARTITION BY p.reply ORDER BY p.start) AS is_lost
                FROM (
                    SELECT j.*, \(had("text")), \(had("thinking")), \(had("calls")),
                        coalesce(max(j.start + octet_length(j.text) + octet_length(j.thinking) + octet_length(j.calls))
                            OVER before, 0) AS had
                    FROM (\(pieces)) AS j
                    WINDOW before AS (
                        PARTITION BY j.reply ORDER BY j.start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                ) AS p
            ), folded AS (
                SELECT r.id AS reply, \(part("text")), \(part("thinking")), \(part("calls")),
                    coalesce(bool_or(is_lost), false) AS is_cut
                FROM \(source) r LEFT JOIN pieces ON reply = r.id GROUP BY r.id
            )
            """
    }

    /// Removes the journal of the replies in `stored`.
    static let cleared = """
        cleared AS (
            DELETE FROM chatterd_journal j USING stored s WHERE j.appid = s.appid AND j.reply = s.id
        )
        """

    /// The members of a reply that ends, from the text of its calls: its steps, which the row has already, and the calls for the client.
    static func extras(_ calls: String, of row: String) -> String {
        """
        CASE WHEN \(calls) <> '' THEN coalesce(\(row).extras || ',', '') || '"tool_calls":[' || \(calls) || ']'
            ELSE \(row).extras END
        """
    }
}
