import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// Some rows of an export, which become lines one by one.
public struct ConversationExportPage {
    private let rows: Rows<ConversationRow>
    private let running: Set<Int64>
    private var index = 0
    /// The number of the row above the next one.
    private var above: Int64

    init(rows: Rows<ConversationRow>, above: Int64, running: Set<Int64>) {
        self.rows = rows
        self.above = above
        self.running = running
    }

    /// The number of rows.
    public var count: Int { rows.count }

    /// The line of the next row; `nil` after the last one.
    public mutating func nextLine() -> ByteBuffer? {
        guard index < rows.count else { return nil }
        let row = rows[index]
        var line = ByteBuffer(capacity: row.size + 1_024)
        line.append(running.contains(row.seq) ? row.closed : row, below: above)
        above = row.seq
        index += 1
        return line
    }
}
