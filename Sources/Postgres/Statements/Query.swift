import CChatterdPostgres
import Synchronization

/// A statement and the values of its parameters.
public struct Query: Sendable {
    /// The statement.
    public let statement: Statement
    /// The values of `$1`, `$2` …
    public let parameters: [Parameter]

    /// Makes a query.
    public init(_ statement: Statement, _ parameters: Parameter...) {
        self.statement = statement
        self.parameters = parameters
    }

    /// Makes a query of parameters that were gathered.
    public init(_ statement: Statement, parameters: [Parameter]) {
        self.statement = statement
        self.parameters = parameters
    }
}
