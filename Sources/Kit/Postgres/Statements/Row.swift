import ChatterdBasics

/// The fields of one row. Each call reads the next column, in the order of the statement.
public struct Row {
    private let result: QueryResult
    private let index: Int
    private var column = 0

    @usableFromInline init(_ result: QueryResult, index: Int) {
        self.result = result
        self.index = index
    }

    private mutating func advance() -> Int {
        defer { column += 1 }
        return column
    }

    /// Reads an integer; 0 for NULL.
    public mutating func nextInt() -> Int { nextOptionalInt() ?? 0 }

    /// Reads an integer; `nil` for NULL.
    public mutating func nextOptionalInt() -> Int? { result.int(index, advance()) }

    /// Reads a boolean; `false` for NULL.
    public mutating func nextBool() -> Bool { nextOptionalBool() ?? false }

    /// Reads a boolean; `nil` for NULL.
    public mutating func nextOptionalBool() -> Bool? { result.bool(index, advance()) }

    /// Reads text; empty for NULL. Bytes that are not UTF-8 become U+FFFD.
    public mutating func nextText() -> String { nextOptionalText() ?? "" }

    /// Reads text; `nil` for NULL. Bytes that are not UTF-8 become U+FFFD.
    public mutating func nextOptionalText() -> String? { result.string(index, advance()) }

    /// Copies the bytes of a field; empty for NULL.
    public mutating func nextBytes() -> [UInt8] {
        let column = advance()
        return result.bytes(index, column).array
    }

    /// Reads the two halves of a `uuid` that the server sent in binary; `nil` for NULL.
    public mutating func nextUUID() -> (high: UInt64, low: UInt64)? { result.uuid(index, advance()) }

    /// All fields, to read in place later.
    public var fields: Fields { Fields(result, index) }

    /// A field to read in place later.
    public mutating func nextField() -> Field { Field(result, index, advance()) }
}
