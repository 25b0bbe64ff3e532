import CChatterdPostgres
import Synchronization

/// The SQL of a statement, as connections prepare it: once on each connection that runs it.
@usableFromInline final class PreparedStatement: Sendable {
    private static let count = Atomic<Int>(0)

    /// Identifies the statement in this process; counts from 0.
    let id: Int
    /// The name at the server, the caller's name and the id, with the zero at its end: libpq needs it for each query.
    let name: [CChar]
    let sql: String
    /// The query that precedes the statement in its transaction.
    @usableFromInline let preamble: TransactionPreamble?
    /// The types of `$1`, `$2` …: the server sees the parameters as exactly these.
    let types: [Oid]
    /// Whether results come in PostgreSQL's binary format instead of as text.
    let returnsBinary: Bool

    init(
        _ name: String, after preamble: TransactionPreamble? = nil, _ parameters: [ParameterType], returnsBinary: Bool,
        sql: String
    ) {
        self.preamble = preamble
        id = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
        self.name = Array("\(name).\(id)".utf8CString)
        self.sql = sql
        self.returnsBinary = returnsBinary
        types = parameters.map(\.oid)
    }
}
