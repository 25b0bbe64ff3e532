/// Queries that run in one transaction, in order: all of them, or none.
///
/// A connection sends them together, without waiting for an answer in between.
public struct Transaction: Sendable {
    @usableFromInline private(set) var queries: [BoundStatement] = []
    private var hasPreamble = false

    /// Creates a transaction without queries.
    public init() {
        queries.reserveCapacity(4)
    }

    /// Adds a query at the end, and the preamble of its statement before it, unless the transaction has one.
    ///
    /// - Returns: the step that finds the query's rows in the results.
    @inlinable @discardableResult
    public mutating func add<Record>(_ query: Query<Record>) -> Step<Record> {
        Step(index: append(query.bound), decode: query.decode)
    }

    @usableFromInline mutating func append(_ query: BoundStatement) -> Int {
        if let preamble = query.statement.preamble, !hasPreamble {
            hasPreamble = true
            queries.append(preamble.query(query.parameters).bound)
        }
        queries.append(query)
        return queries.count - 1
    }

    /// A query of a transaction.
    public struct Step<Record>: Sendable {
        @usableFromInline let index: Int
        @usableFromInline let decode: @Sendable (inout Row) -> Record

        @inlinable init(index: Int, decode: @escaping @Sendable (inout Row) -> Record) {
            self.index = index
            self.decode = decode
        }
    }

    /// The rows of each query of a transaction.
    public struct Results: Sendable {
        @usableFromInline let results: [QueryResult]

        init(_ results: [QueryResult]) {
            self.results = results
        }

        /// The rows of a query.
        @inlinable public subscript<Record>(_ step: Step<Record>) -> Rows<Record> {
            Rows(results[step.index], decode: step.decode)
        }
    }
}

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
