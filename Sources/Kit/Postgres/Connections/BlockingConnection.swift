import CChatterdPostgres
import Glibc

/// A connection whose calls block, for use on a separate thread. A pool's connection then passes to the pool's shard.
final class BlockingConnection {
    private var handle: OpaquePointer?

    /// Connects within the target's `connect_timeout` for each address, plus the time to look up names.
    ///
    /// - Throws: `connectionFailed`.
    init(_ target: ConnectionTarget) throws(PostgresError) {
        var keywords: [UnsafeMutablePointer<CChar>?] = []
        var values: [UnsafeMutablePointer<CChar>?] = []
        for option in target.options {
            keywords.append(strdup(option.keyword))
            values.append(strdup(option.value))
        }
        keywords.append(nil)
        values.append(nil)
        defer {
            for pointer in keywords + values {
                free(pointer)
            }
        }
        var keywordPointers = keywords.map { UnsafePointer($0) }
        var valuePointers = values.map { UnsafePointer($0) }
        handle = PQconnectdbParams(&keywordPointers, &valuePointers, 0)
        guard let handle, PQstatus(handle) == CONNECTION_OK else {
            throw PostgresError(.connectionFailed, failure, isSafeToRetry: true)
        }
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
    }

    deinit {
        PQfinish(handle)
    }

    /// libpq's last message. It never contains a password.
    var failure: String {
        handle.flatMap { PQerrorMessage($0) }.map { PostgresError.firstLine($0) } ?? "out of memory"
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool {
        handle.map { PQtransactionStatus($0) != PQTRANS_IDLE } ?? false
    }

    /// Whether the connection owns its session at the server, instead of a pooler such as PgBouncer.
    ///
    /// A pooler invents the process number that it sends with the cancellation key, because its clients change sessions.
    func ownsSession() throws(PostgresError) -> Bool {
        try run(Query(SessionSettings.serverProcess)).first == handle.map { Int(PQbackendPID($0)) }
    }

    /// Passes the ownership of libpq's connection to the caller; `nil` if it was passed already.
    func release() -> OpaquePointer? {
        handle.take()
    }

    /// Runs one or more statements without parameters.
    func execute(_ sql: String) throws(PostgresError) {
        _ = try checked(PQexec(handle, sql))
    }

    /// Runs a query, without preparing its statement.
    @discardableResult
    func run<Record>(_ query: Query<Record>) throws(PostgresError) -> Rows<Record> {
        let statement = query.bound.statement
        var buffer = ParameterBuffer()
        let result = buffer.withEncoded(query.bound.parameters) { values, lengths, formats in
            PQexecParams(
                handle, statement.sql, Int32(statement.types.count), statement.types, values, lengths, formats,
                statement.returnsBinary ? 1 : 0)
        }
        return Rows(try checked(result), decode: query.decode)
    }

    private func checked(_ result: OpaquePointer?) throws(PostgresError) -> QueryResult {
        guard let result else {
            throw PostgresError(.connectionLost, failure)
        }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            return QueryResult(result)
        default:
            defer { PQclear(result) }
            throw PostgresError(result: result)
        }
    }
}
