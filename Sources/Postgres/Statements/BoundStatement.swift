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
