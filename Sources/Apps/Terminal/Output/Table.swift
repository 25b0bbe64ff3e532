/// Lines of text in columns.
struct Table {
    private var rows: [[String]] = []

    mutating func add(_ cells: String...) { rows.append(cells) }

    /// The lines; the last column is not padded. Wide characters count as one.
    var lines: [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == row.count - 1
                    ? cell : cell + String(repeating: " ", count: widths[column] + 2 - cell.count)
            }.joined()
        }
    }
}
