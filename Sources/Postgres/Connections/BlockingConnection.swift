import CChatterdPostgres
import Glibc

/// A connection whose calls block: for threads of their own only.
final class BlockingConnection: @unchecked Sendable {
    private var handle: OpaquePointer?

    /// Connects; takes at most the target's `connect_timeout` for each address, and what looking up names takes.
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

    /// libpq's last message; it never holds a password.
    var failure: String {
        handle.flatMap { PQerrorMessage($0) }.map { PostgresError.firstLine($0) } ?? "out of memory"
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool {
        handle.map { PQtransactionStatus($0) != PQTRANS_IDLE } ?? false
    }

    /// Whether the server's session is this connection's own; a pooler such as PgBouncer stands in between otherwise.
    ///
    /// A pooler makes up the process number that it sends with the cancellation key: sessions change under its clients.
    func ownsSession() throws(PostgresError) -> Bool {
        let row = try query("SELECT pg_backend_pid()")
        return row.int(0, 0) == handle.map { Int(PQbackendPID($0)) }
    }

    /// Gives the connection away.
    func release() -> OpaquePointer? {
        handle.take()
    }

    /// Runs one or more statements without parameters.
    func execute(_ sql: String) throws(PostgresError) {
        _ = try checked(PQexec(handle, sql))
    }

    /// Runs one statement with parameters.
    func query(_ sql: String, _ parameters: (ParameterType, Parameter)...) throws(PostgresError) -> QueryResult {
        let types = parameters.map(\.0.oid)
        var buffer = ParameterBuffer()
        let result = buffer.withEncoded(parameters.map(\.1)) { values, lengths, formats in
            PQexecParams(handle, sql, Int32(types.count), types, values, lengths, formats, 0)
        }
        return try checked(result)
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
