/// A field of a result, read in place. It keeps the result in memory.
public struct Field {
    private let result: QueryResult
    private let row: Int
    private let column: Int

    init(_ result: QueryResult, _ row: Int, _ column: Int) {
        self.result = result
        self.row = row
        self.column = column
    }

    /// Whether the field is NULL.
    public var isNull: Bool { result.isNull(row, column) }

    /// The bytes as the server sent them; none for NULL.
    public var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = result.bytes(row, column)
            return _overrideLifetime(span, borrowing: self)
        }
    }
}
