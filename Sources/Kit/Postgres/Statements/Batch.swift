import ChatterdBasics

/// Queries that run in one transaction, with the task that waits for them. Confined to its pool's shard.
final class Batch {
    let queries: [BoundStatement]
    private var continuation: UnsafeContinuation<Result<[QueryResult], PostgresError>, Never>?
    /// The results of the queries that were answered.
    private(set) var results: [QueryResult] = []
    /// The first failure. The server skips the queries after it.
    var error: PostgresError?
    /// The statements that the connection sends before the queries: preparations, and settings for a pooler's session.
    var preparing: [PreparedStatement] = []
    /// The number of answers to `preparing`.
    var preparedCount = 0
    /// When the batch came to its pool.
    var begun = Instant.distantPast
    /// The instant at which the batch fails.
    var deadline = Instant.distantFuture
    /// Whether the pool sends the batch again: the connection is the cause of the failure, and the server has rolled back.
    private(set) var isToBeRepeated = false
    /// The instant of the first failure after which the pool sent the batch again.
    private var repeated: Instant?

    init(_ queries: [BoundStatement], _ continuation: UnsafeContinuation<Result<[QueryResult], PostgresError>, Never>) {
        self.queries = queries
        self.continuation = continuation
    }

    /// Appends the result of the next query.
    func append(_ result: QueryResult) {
        if results.isEmpty {
            results.reserveCapacity(queries.count)
        }
        results.append(result)
    }

    /// Whether every query has its result.
    var hasAllResults: Bool { results.count == queries.count }

    /// Makes the pool send the batch again, at most once.
    func repeatOnce(at now: Instant) {
        isToBeRepeated = repeated == nil
        repeated = repeated ?? now
    }

    /// Makes the pool send the batch again after the server ended the session. The first repetition always happens. A later one happens only if
    /// the session was begun before the first failure: the server may have ended it with the same event, before it read the batch.
    func repeatAfterEnd(ofSessionBegunAt begun: Instant, at now: Instant) {
        isToBeRepeated = repeated.map { begun < $0 } ?? true
        repeated = repeated ?? now
    }

    /// Returns the batch to the state before it was sent.
    func reset() {
        isToBeRepeated = false
        results.removeAll()
        preparing.removeAll()
        preparedCount = 0
        error = nil
    }

    /// Resumes the waiting task with the results.
    func succeed() {
        continuation.take()?.resume(returning: .success(results))
    }

    /// Resumes the waiting task with an error.
    func fail(_ error: PostgresError) {
        continuation.take()?.resume(returning: .failure(error))
    }
}
