import ChatterdPostgres

extension PostgresError {
    static let adviceForReadOnly =
        "connect to the primary (target_session_attrs=read-write with several hosts), or end its read-only mode"

    /// What an operator can do about a failure.
    var advice: String {
        switch (code, sqlState) {
        case (.connectionFailed, _), (.connectionLost, _): adviceForConnection
        case (.readOnly, _): Self.adviceForReadOnly
        case (.insufficientPrivilege, _):
            "name the role that owns the tables of chatterd in DATABASE_URL, or have it grant this right"
        case (.undefinedObject, _): "run `chatterd migrate`"
        case (.timedOut, _), (.overloaded, _):
            "PostgreSQL hangs or is overloaded: see its log, and pg_stat_activity for locks"
        case (_, "53100"): "free space on the disk of PostgreSQL, that of its WAL included; chatterd then continues"
        case (_, "53200"): "give PostgreSQL more memory, or lower work_mem and max_connections"
        case (_, "53300"): Self.adviceForConnections
        case (.invalidConfiguration, _): "correct DATABASE_URL"
        default: "see the log of PostgreSQL"
        }
    }

    private static let adviceForConnections =
        "raise max_connections or the limit of the role, or end other clients: all connections are in use"

    /// libpq reports no SQLSTATE for a connection, so its words decide. PostgreSQL may have others in another language.
    private var adviceForConnection: String {
        let advices: [(words: [String], advice: String)] = [
            (["authentication failed", "no password supplied"], "correct user and password in DATABASE_URL"),
            (["pg_hba.conf"], "permit this user, host and database in pg_hba.conf of PostgreSQL"),
            (["too many connections", "too many clients", "remaining connection slots"], Self.adviceForConnections),
            (["role \"", "does not exist"], "create the role with LOGIN, or correct DATABASE_URL"),
            (["database \"", "does not exist"], "create the database (createdb), or correct DATABASE_URL"),
            (["read-only", "recovery mode", "read-write"], Self.adviceForReadOnly),
            (["starting up", "shutting down"], "wait until PostgreSQL has started"),
            (["translate host name"], "correct the host in DATABASE_URL"),
            (
                ["certificate", "SSL"],
                "correct sslmode and sslrootcert in DATABASE_URL, or the certificate of PostgreSQL"
            ),
        ]
        let found = advices.first { words, _ in
            words.last == "does not exist"
                ? words.allSatisfy(message.contains) : words.contains(where: message.contains)
        }
        return found?.advice ?? "start PostgreSQL, or correct host and port in DATABASE_URL"
    }
}
