import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport

@testable import ChatterdPostgres

/// Runs `body` on a separate shard with a pool for the database, and shuts the pool down.
func withPool<Value: Sendable>(
    _ database: String, _ configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (PostgresPool) async throws -> Value
) async throws -> Value {
    let shard = try Shard(index: 0)
    var configuration = PostgresConfiguration(target: try ConnectionTarget(database))
    // Longer than any test, so that no test fails on a busy machine.
    configuration.connectionTimeout = .seconds(600)
    configuration.timeLimit = .seconds(600)
    configure(&configuration)
    let pool = PostgresPool(configuration, on: shard)
    return try await Task(executorPreference: shard) {
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body(pool))
        } catch {
            outcome = .failure(error)
        }
        await pool.shutDown()
        return try outcome.get()
    }.value
}

/// A database that tests read and never change.
func anyDatabase() throws -> String {
    try PrivateCluster.shared().conninfo(database: "postgres")
}

/// An empty database of the shared cluster.
func freshDatabase() throws -> String {
    try PrivateCluster.shared().makeEmptyDatabase()
}

/// Logged lines.
final class LogLines: Sendable {
    private let lines = Lock<[String]>([])

    func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }

    var all: [String] { lines.withLock { $0 } }
}

/// Runs the queries in one transaction, and returns the error.
func failure(of pool: PostgresPool, _ queries: Query<Void>...) async -> PostgresError? {
    do throws(PostgresError) {
        _ = try await pool.run(queries)
        return nil
    } catch {
        return error
    }
}

extension PostgresPool {
    /// Runs queries in one transaction.
    func run(_ queries: [Query<Void>]) async throws(PostgresError) -> [Rows<Void>] {
        var transaction = Transaction()
        let steps = queries.map { transaction.add($0) }
        let results = try await run(transaction)
        return steps.map { results[$0] }
    }
}

/// Fields by number, for statements without a decoder.
extension Rows<Void> {
    var rowCount: Int { count }

    func isNull(_ row: Int, _ column: Int) -> Bool { result.isNull(row, column) }

    func int(_ row: Int, _ column: Int) -> Int? { result.int(row, column) }

    func bool(_ row: Int, _ column: Int) -> Bool? { result.bool(row, column) }

    func string(_ row: Int, _ column: Int) -> String? { result.string(row, column) }

    @_lifetime(borrow self)
    func bytes(_ row: Int, _ column: Int) -> Span<UInt8> {
        let span = result.bytes(row, column)
        return _overrideLifetime(span, borrowing: self)
    }
}
