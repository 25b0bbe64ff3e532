import ChatterdBasics

/// Queries that are done together or not at all, and whoever waits for them. Confined to its pool's shard.
final class Batch: @unchecked Sendable {
    let queries: [Query]
    private var continuation: UnsafeContinuation<Result<[QueryResult], PostgresError>, Never>?
    /// Results so far.
    private(set) var results: [QueryResult] = []
    /// The first failure; the server skips what stands behind it.
    var error: PostgresError?
    /// The statements whose preparation precedes the queries, or that set what a pooler's session needs.
    var preparing: [Statement] = []
    /// How many of them have been answered.
    var preparedCount = 0
    /// When the batch fails.
    var deadline = Instant.distantPast
    /// Whether it failed for a reason of the connection, has left nothing behind, and is to be sent anew.
    private(set) var isToBeRepeated = false
    private var wasRepeated = false

    init(_ queries: [Query], _ continuation: UnsafeContinuation<Result<[QueryResult], PostgresError>, Never>) {
        self.queries = queries
        self.continuation = continuation
    }

    /// Notes the result of the next query.
    func append(_ result: QueryResult) {
        if results.isEmpty {
            results.reserveCapacity(queries.count)
        }
        results.append(result)
    }

    /// Whether every query has its result.
    var hasAllResults: Bool { results.count == queries.count }

    /// Has the pool send it anew, unless it did so before.
    func repeatOnce() {
        isToBeRepeated = !wasRepeated
        wasRepeated = true
    }

    /// Makes it as if it had never been sent.
    func reset() {
        isToBeRepeated = false
        results.removeAll()
        preparing.removeAll()
        preparedCount = 0
        error = nil
    }

    /// Hands the results over.
    func succeed() {
        continuation.take()?.resume(returning: .success(results))
    }

    /// Hands the failure over.
    func fail(_ error: PostgresError) {
        continuation.take()?.resume(returning: .failure(error))
    }
}
