import CChatterdPostgres
import Synchronization

/// One SQL statement with the types of its parameters, prepared once on each connection that runs it.
///
/// Make it once, as a static constant: each instance is prepared on its own.
public final class Statement: Sendable {
    private static let count = Atomic<Int>(0)

    /// Tells the statements of the process apart, from 0 on.
    let id: Int
    /// Its name at the server: what the caller called it, and the number.
    let name: String
    /// The SQL, with `$1`, `$2` … for the parameters.
    public let sql: String
    /// The types of `$1`, `$2` …: the server sees the parameters as exactly these.
    let types: [Oid]
    /// Whether results come in PostgreSQL's binary format instead of as text.
    let returnsBinary: Bool

    /// Makes a statement.
    ///
    /// - Parameters:
    ///   - name: What it is called in the server's views; short.
    ///   - parameters: The types of `$1`, `$2` …
    ///   - returnsBinary: Asks for results in binary: cheaper for numbers, the same for text.
    ///   - sql: One SQL statement.
    public init(_ name: String, _ parameters: ParameterType..., returnsBinary: Bool = false, sql: String) {
        id = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
        self.name = "\(name).\(id)"
        self.sql = sql
        self.returnsBinary = returnsBinary
        types = parameters.map(\.oid)
    }
}
