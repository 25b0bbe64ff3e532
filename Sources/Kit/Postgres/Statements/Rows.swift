/// The rows that a query returned. A row is decoded each time it is read.
public struct Rows<Record>: RandomAccessCollection, Sendable {
    @usableFromInline let result: QueryResult
    @usableFromInline let decode: @Sendable (inout Row) -> Record
    /// The number of rows.
    public let endIndex: Int

    @inlinable init(_ result: QueryResult, decode: @escaping @Sendable (inout Row) -> Record) {
        self.result = result
        self.decode = decode
        endIndex = result.rowCount
    }

    /// The index of the first row.
    @inlinable public var startIndex: Int { 0 }

    /// Decodes a row.
    @inlinable public subscript(index: Int) -> Record {
        var row = Row(result, index: index)
        return decode(&row)
    }

    /// The fields of a row, to read in place.
    public func fields(at index: Int) -> Fields { Fields(result, index) }

    /// The number of rows that the query inserted, updated, deleted or selected.
    public var affectedRows: Int { result.affectedRows }

    /// The memory that the rows take, in bytes.
    public var memorySize: Int { result.memorySize }
}
