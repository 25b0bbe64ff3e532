/// A statement with the values of its parameters.
public struct Query<Record>: Sendable {
    @usableFromInline let bound: BoundStatement
    @usableFromInline let decode: @Sendable (inout Row) -> Record

    @inlinable public init(_ statement: Statement<Record>, _ parameters: Parameter...) {
        self.init(statement, parameters: parameters)
    }

    /// Creates a query with an array of parameters.
    @inlinable public init(_ statement: Statement<Record>, parameters: [Parameter]) {
        bound = BoundStatement(statement: statement.prepared, parameters: parameters)
        decode = statement.decode
    }
}

/// A query without the type of its rows, as connections send it.
@usableFromInline struct BoundStatement: Sendable {
    let statement: PreparedStatement
    /// The values of `$1`, `$2` …
    let parameters: [Parameter]

    @usableFromInline init(statement: PreparedStatement, parameters: [Parameter]) {
        self.statement = statement
        self.parameters = parameters
    }
}
