/// A query that must run in a transaction before the first statement that needs it, for settings that end with the transaction.
public struct TransactionPreamble: Sendable {
    @usableFromInline let query: @Sendable (_ parameters: [Parameter]) -> Query<Void>

    /// Creates a preamble.
    ///
    /// - Parameter query: makes the query from the parameters of the first statement that needs it.
    public init(_ query: @escaping @Sendable (_ parameters: [Parameter]) -> Query<Void>) {
        self.query = query
    }
}
