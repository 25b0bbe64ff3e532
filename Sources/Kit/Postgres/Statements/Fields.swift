/// The fields of a row, read in place. They keep the result in memory. Columns count from 0.
///
/// A record of which there are many keeps the index of its row, and no reference.
public struct Fields {
    private let result: QueryResult
    private let row: Int

    /// The index of the row in its result.
    public var index: Int { row }

    init(_ result: QueryResult, _ row: Int) {
        self.result = result
        self.row = row
    }

    /// Whether a field is NULL.
    public func isNull(_ column: Int) -> Bool { result.isNull(row, column) }

    /// A field of an integer type; `nil` for NULL.
    public func int(_ column: Int) -> Int? { result.int(row, column) }

    /// The number of bytes of a field; 0 for NULL.
    public func byteCount(_ column: Int) -> Int { result.byteCount(row, column) }

    /// The bytes of a field as the server sent them; none for NULL.
    @_lifetime(borrow self)
    public func bytes(_ column: Int) -> Span<UInt8> {
        let span = result.bytes(row, column)
        return _overrideLifetime(span, borrowing: self)
    }
}
