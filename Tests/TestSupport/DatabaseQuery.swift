import CChatterdPostgres

/// Runs the statements of `sql` over a connection of their own, as one transaction, and returns the rows of all of them as text.
///
/// The call blocks until the server has answered. A null is `<null>`.
func rows(of sql: String, conninfo: String) throws -> [[String]] {
    guard let connection = PQconnectdb(conninfo) else { throw TestFailure("no memory for a connection") }
    defer { PQfinish(connection) }
    func failure() -> TestFailure { TestFailure("PostgreSQL: \(String(cString: PQerrorMessage(connection)))") }
    guard PQstatus(connection) == CONNECTION_OK else { throw failure() }
    PQsetNoticeProcessor(connection, { _, _ in }, nil)
    guard PQsendQuery(connection, sql) == 1 else { throw failure() }
    var rows: [[String]] = []
    var error: TestFailure?
    while let result = PQgetResult(connection) {
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK:
            for row in 0..<PQntuples(result) {
                rows.append(
                    (0..<PQnfields(result)).map { column in
                        PQgetisnull(result, row, column) == 1
                            ? "<null>" : String(cString: PQgetvalue(result, row, column))
                    })
            }
        case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
        default: error = error ?? failure()
        }
    }
    if let error { throw error }
    return rows
}
