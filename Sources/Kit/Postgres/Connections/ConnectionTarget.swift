import CChatterdPostgres
import ChatterdBasics
import Glibc

/// A connection string of libpq, read and completed.
public struct ConnectionTarget: Sendable, CustomStringConvertible {
    /// Keywords and values, in order.
    private(set) var options: [(keyword: String, value: String)]

    /// Reads `host=… dbname=…` or `postgresql://…`. An empty string takes all options from the environment's `PG*`.
    ///
    /// - Throws: `invalidConfiguration`. The message does not quote the string, which may contain a password.
    public init(_ connectionString: String) throws(PostgresError) {
        guard let list = PQconninfoParse(connectionString, nil) else {
            throw PostgresError(
                .invalidConfiguration,
                "this is not a libpq connection string: write postgresql://user@host:port/database or host=… dbname=…")
        }
        defer { PQconninfoFree(list) }
        options = []
        var next = list
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val {
                options.append((String(cString: keyword), String(cString: value)))
            }
            next += 1
        }
        // GSS encryption hides bytes that it has read from poll(2), so a connection could miss them.
        if (self["gssencmode"] ?? getenv("PGGSSENCMODE").map { String(cString: $0) }) == "require" {
            throw PostgresError(.invalidConfiguration, "gssencmode=require is not supported: use sslmode=require")
        }
        options.removeAll { $0.keyword == "gssencmode" || $0.keyword == "client_encoding" }
        options.append(("gssencmode", "disable"))
        options.append(("client_encoding", "UTF8"))
        setDefault("fallback_application_name", "chatterd")
        setDefault("connect_timeout", "5", environment: "PGCONNECT_TIMEOUT")
        // The connection detects a vanished peer within a minute, with or without traffic.
        setDefault("keepalives_idle", "30")
        setDefault("keepalives_interval", "10")
        setDefault("keepalives_count", "3")
        setDefault("tcp_user_timeout", "60000")
    }

    private subscript(keyword: String) -> String? {
        options.first { $0.keyword == keyword }?.value
    }

    private mutating func setDefault(_ keyword: String, _ value: String, environment: String? = nil) {
        guard self[keyword] == nil else { return }
        if let environment, getenv(environment) != nil { return }
        options.append((keyword, value))
    }

    /// Host, port, database and role as far as the string names them; never a password.
    public var description: String {
        let shown = ["host", "hostaddr", "port", "dbname", "user", "service"].compactMap { keyword in
            self[keyword].map { "\(keyword)=\($0)" }
        }
        return shown.isEmpty ? "PG* of the environment" : shown.joined(separator: " ")
    }
}
