/// The SQL that finds rows of a conversation by their numbers.
enum StoredRows {
    /// The thoughts of a row as a member of a message, with a comma before it; NULL without thoughts.
    static let thinking = #"',"thinking":' || to_json(thinking)"#

    /// Further members of a row with its thoughts: some models need them when they get the results of their calls. An answer without calls
    /// has no further members, and is replayed without its thoughts.
    static func withThinking(_ members: String) -> String {
        "CASE WHEN thinking IS NULL THEN \(members) ELSE (\(members)) || \(thinking) END"
    }

    /// The rows of conversation $1 with the numbers in an array, in parentheses, for FROM. The limit has each of them looked up by its key:
    /// where most conversations are short, the planner would read all rows of a long one.
    static func numbered(_ numbers: String) -> String {
        """
        (SELECT r.* FROM unnest(\(numbers)) AS n (seq)
        CROSS JOIN LATERAL (SELECT * FROM chatts WHERE appid = $1 AND seq = n.seq LIMIT 1) AS r)
        """
    }
}
