/// One SQL statement with the types of its parameters and the decoder of its rows.
///
/// Declare it as a static constant: a connection prepares each instance once.
public struct Statement<Record>: Sendable {
    @usableFromInline let prepared: PreparedStatement
    @usableFromInline let decode: @Sendable (inout Row) -> Record

    /// Creates a statement.
    ///
    /// - Parameters:
    ///   - name: A short name for the server's views.
    ///   - preamble: The query that precedes the statement in its transaction; `nil` for none. All preambles of a transaction are the same.
    ///   - parameters: The types of `$1`, `$2` …
    ///   - returnsBinary: Whether results come in binary: cheaper for numbers, the same for text.
    ///   - sql: One SQL statement.
    ///   - decode: Makes a record of a row. It reads the columns in the order of the statement.
    public init(
        _ name: String, after preamble: TransactionPreamble? = nil, _ parameters: ParameterType...,
        returnsBinary: Bool = false, sql: String, decode: @escaping @Sendable (inout Row) -> Record
    ) {
        prepared = PreparedStatement(name, after: preamble, parameters, returnsBinary: returnsBinary, sql: sql)
        self.decode = decode
    }
}

extension Statement<Void> {
    /// Creates a statement without rows to read.
    public init(
        _ name: String, after preamble: TransactionPreamble? = nil, _ parameters: ParameterType...,
        returnsBinary: Bool = false, sql: String
    ) {
        prepared = PreparedStatement(name, after: preamble, parameters, returnsBinary: returnsBinary, sql: sql)
        decode = { _ in }
    }
}
