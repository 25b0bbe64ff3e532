import ChatterdBasics
import ChatterdPostgres
import ChatterdSockets
import ChatterdTestSupport

/// Runs `body` on a shard of its own with a pool for the database, and shuts the pool down.
func withPool<Value: Sendable>(
    _ database: String, _ configure: (inout PostgresConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (PostgresPool) async throws -> Value
) async throws -> Value {
    let shard = try Shard(index: 0)
    var configuration = PostgresConfiguration(target: try ConnectionTarget(database))
    // Longer than any test, so that a busy machine fails none.
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

/// A database that tests only ask, and never change.
func anyDatabase() throws -> String {
    try PrivateCluster.shared().conninfo(database: "postgres")
}

/// An empty database of the shared cluster.
func freshDatabase() throws -> String {
    try PrivateCluster.shared().makeDatabase()
}

/// Lines that somebody logged.
final class LogLines: Sendable {
    private let lines = Lock<[String]>([])

    func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }

    var all: [String] { lines.withLock { $0 } }
}

/// Runs the queries, and returns how that failed.
func failure(of pool: PostgresPool, _ queries: Query...) async -> PostgresError? {
    do throws(PostgresError) {
        _ = try await pool.run(queries)
        return nil
    } catch {
        return error
    }
}
