import ChatterdTestSupport

/// A row of `chatts` with a complete message: no running reply, and no choice of a reply.
struct StoredRow: Equatable, Sendable {
    let seq: Int
    let role: String
    /// The bytes, so that no conversion between the database and the test can change them.
    let message: [UInt8]
    let turn: Int?
    /// The state of a reply; `nil` for other messages.
    let state: String?
    let model: String?
    let thinking: String?
    let extras: String?

    var text: String { String(decoding: message, as: UTF8.self) }

    /// Role, text and state, for short comparisons.
    var summary: [String] { [role, text] + (state.map { [$0] } ?? []) }

    static func all(_ appID: String, in database: String, of cluster: PrivateCluster) throws -> [StoredRow] {
        let hex = { (column: String) in "encode(convert_to(\(column), 'UTF8'), 'hex')" }
        let rows = try cluster.query(
            """
            SELECT seq, name, \(hex("message")), turn, nullif(state, 'prompt'), model, \(hex("thinking")), \(hex("extras"))
            FROM chatts WHERE appid = '\(appID)' AND coalesce(state, '') NOT IN ('streaming', 'choice') ORDER BY seq
            """, database: database)
        return rows.map { row in
            let optional = { (index: Int) in row[index] == "<null>" ? nil : row[index] }
            return StoredRow(
                seq: Int(row[0]) ?? -1, role: row[1], message: bytes(ofHex: row[2]),
                turn: optional(3).flatMap { Int($0) },
                state: optional(4), model: optional(5),
                thinking: optional(6).map { String(decoding: bytes(ofHex: $0), as: UTF8.self) },
                extras: optional(7).map { String(decoding: bytes(ofHex: $0), as: UTF8.self) })
        }
    }
}

private func bytes(ofHex text: String) -> [UInt8] {
    let digits = Array(text.utf8).map { $0 < 58 ? $0 - 48 : $0 - 87 }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

extension Sequence<StoredRow> {
    /// The messages of the next request to a model, if the rows have no branches.
    var replayed: [[String]] {
        var messages: [[String]] = []
        var prompts: [[String]] = []
        for row in self {
            guard let state = row.state else {
                prompts.append([row.role, row.text])
                continue
            }
            if state == "complete" || row.message.contains(where: { $0 > 0x20 }) {
                messages += prompts + [[row.role, row.text]]
            }
            prompts = []
        }
        return messages + prompts
    }
}
