import CChatterdPostgres

/// A connection of the tests to a database. Calls block.
final class DatabaseConnection {
    private let connection: OpaquePointer

    init(_ conninfo: String) throws {
        guard let connection = PQconnectdb(conninfo) else { throw TestFailure("no memory for a connection") }
        self.connection = connection
        guard PQstatus(connection) == CONNECTION_OK else { throw failure }
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit {
        PQfinish(connection)
    }

    /// Whether the server has not closed the connection.
    var isOpen: Bool { PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK }

    private var failure: TestFailure { TestFailure("PostgreSQL: \(String(cString: PQerrorMessage(connection)))") }

    /// Runs the statements of `sql` as one transaction, and returns the rows of all of them as text. A null is `<null>`.
    func run(_ sql: String) throws -> [[String]] {
        guard PQsendQuery(connection, sql) == 1 else { throw failure }
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
            default: error = error ?? failure
            }
        }
        if let error { throw error }
        return rows
    }
}
