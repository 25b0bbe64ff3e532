import ChatterdDevelopmentCluster
import Foundation
import Glibc

/// A PostgreSQL server for the tests: on a unix socket, in a private directory, removed at the end of the process.
public final class PrivateCluster: Sendable {
    /// How the server is stopped.
    public enum StopMode: String, Sendable {
        /// Ends connections in order and writes a checkpoint.
        case fast
        /// Like a crash: the next start recovers from the log.
        case immediate
    }

    /// The directory of the socket, which is the host in a conninfo.
    public let directory: String
    /// Whether the server calls fsync, as in production. Tests that do not crash the machine need no fsync.
    private let durable: Bool
    private let cleanup: ClusterCleanup
    private let databases = Monitor(0)
    private let migration = Monitor(false)
    /// The connection that creates and removes databases. Each connection costs PostgreSQL as much as some tests' statements.
    private let administration = Monitor<DatabaseConnection?>(nil)

    private static let sharedCluster = Monitor<Result<PrivateCluster, any Error>?>(nil)

    /// The server that all tests of the process share; the first call starts it. Never stop or pause this one.
    public static func shared() throws -> PrivateCluster {
        try sharedCluster.withLock { cluster in
            if let cluster { return try cluster.get() }
            let made = Result { try make() }
            cluster = made
            return try made.get()
        }
    }

    /// A started server for one test, which may stop, pause and restart it.
    public static func make(durable: Bool = false) throws -> PrivateCluster {
        let cluster = try PrivateCluster(durable: durable)
        try cluster.start()
        return cluster
    }

    private init(durable: Bool) throws {
        self.durable = durable
        directory = try makeTemporaryDirectory()
        cleanup = try ClusterCleanup(directory: directory)
        try runOrThrow(asDatabaseUser(["cp", "-a", try Template.shared(), "\(directory)/data"]))
    }

    private static let programs = Result { try PostgresPrograms.find(version: nil) }

    /// The path of a program of PostgreSQL, as the product finds it.
    static func program(_ name: String) throws -> String {
        try programs.get().path(name)
    }

    /// Starts the server and waits until it answers.
    public func start() throws {
        let options = [
            "listen_addresses=", "unix_socket_directories=\(directory)", "max_connections=800", "shared_buffers=24MB",
            "dynamic_shared_memory_type=mmap", "max_parallel_workers=0", "autovacuum=off",
            "fsync=\(durable ? "on" : "off")",
            "log_min_messages=warning", "timezone=UTC",
        ]
        try runOrThrow(
            asDatabaseUser([
                try PrivateCluster.program("pg_ctl"), "-D", "\(directory)/data", "-w", "-t", "240", "-l",
                "\(directory)/log",
                "-o",
                options.map { "-c \($0)" }.joined(separator: " "), "start",
            ]))
    }

    /// Stops the server and waits for its end.
    public func stop(_ mode: StopMode = .fast) throws {
        try runOrThrow(
            asDatabaseUser([
                try PrivateCluster.program("pg_ctl"), "-D", "\(directory)/data", "-w", "-t", "240", "-m", mode.rawValue,
                "stop",
            ]))
    }

    /// Pauses the server and all its backends: connections stay open without answers, and new ones hang.
    public func pause() throws {
        let postmaster = try postmaster()
        try freeze(postmaster)
        // The paused server starts no further backend, and those that it was starting exist.
        for child in children(of: postmaster) { try freeze(child) }
    }

    private func freeze(_ process: pid_t) throws {
        kill(process, SIGSTOP)
        // `kill` returns before the process stops.
        try eventually("process \(process) is paused", isTrue: { ["T", "Z", nil].contains(state(of: process)) })
    }

    /// Resumes a paused server.
    public func resume() throws {
        let postmaster = try postmaster()
        for child in children(of: postmaster) { kill(child, SIGCONT) }
        kill(postmaster, SIGCONT)
    }

    /// The libpq conninfo of a database of this server.
    public func conninfo(database: String) -> String {
        "host=\(directory) user=postgres dbname=\(database)"
    }

    /// Creates a database with the schema of this version, and returns its libpq conninfo.
    public func makeDatabase() throws -> String {
        conninfo(database: try makeDatabaseName())
    }

    /// Creates a database with the schema of this version, and returns its name.
    public func makeDatabaseName() throws -> String {
        try createMigrated()
        return try create(from: PrivateCluster.migrated)
    }

    /// Creates an empty database and returns its libpq conninfo.
    public func makeEmptyDatabase() throws -> String {
        conninfo(database: try makeEmptyDatabaseName())
    }

    /// Creates an empty database and returns its name.
    public func makeEmptyDatabaseName() throws -> String {
        try create(from: "template0")
    }

    /// The database that the others are copies of: all migrations take as long as several tests.
    private static let migrated = "migrated"

    /// Creates the database `migrated` at the first call.
    private func createMigrated() throws {
        try migration.withLock { isDone in
            if isDone { return }
            // Where the first attempt failed, every test says why.
            try query("DROP DATABASE IF EXISTS \(PrivateCluster.migrated)", database: "postgres")
            try query("CREATE DATABASE \(PrivateCluster.migrated) TEMPLATE template0", database: "postgres")
            let program = try TestProgram(
                "chatterd", ["migrate"], environment: ["DATABASE_URL": conninfo(database: PrivateCluster.migrated)])
            guard try program.waitForExit() == 0 else { throw TestFailure("chatterd migrate: \(program.lines)") }
            // A database with connections cannot be copied.
            let connections = "SELECT 1 FROM pg_stat_activity WHERE datname = '\(PrivateCluster.migrated)'"
            try eventually(
                "the migration's connections have ended",
                isTrue: { try query(connections, database: "postgres").isEmpty })
            isDone = true
        }
    }

    private func create(from template: String) throws -> String {
        let number = databases.withLock { count in
            count += 1
            return count
        }
        let name = "test\(number)"
        // A copy of the files costs half as much as one through the write-ahead log, and has the template's cache of relations.
        try administer("CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY file_copy")
        return name
    }

    /// Removes a database and ends its connections; `database` is a name or a conninfo. A thousand databases need 6 GiB of memory.
    public func drop(_ database: String) throws {
        try administer("DROP DATABASE \(databaseName(of: database)) WITH (FORCE)")
    }

    private func administer(_ statement: String) throws {
        try administration.withLock { connection in
            // The server may have been restarted since.
            if connection?.isOpen != true { connection = try DatabaseConnection(conninfo(database: "postgres")) }
            _ = try connection?.run(statement)
        }
    }

    /// Runs statements and returns their rows as text; `database` is a name or a conninfo. A null is `<null>`.
    @discardableResult
    public func query(_ sql: String, database: String) throws -> [[String]] {
        try DatabaseConnection(database.contains("=") ? database : conninfo(database: database)).run(sql)
    }

    /// Makes a database refuse or accept writes, and ends its connections so that all clients notice.
    public func setReadOnly(_ readOnly: Bool, database: String) throws {
        let name = databaseName(of: database)
        try query(
            "ALTER DATABASE \(name) SET default_transaction_read_only = \(readOnly ? "on" : "off")",
            database: "postgres")
        try terminateBackends(of: name)
    }

    /// Ends all the connections of a database, as an administrator would.
    public func terminateBackends(of database: String) throws {
        try query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = '\(databaseName(of: database))' AND pid <> pg_backend_pid()
            """,
            database: "postgres")
    }

    /// Waits until a statement sleeps in a database, and cancels it.
    public func cancelSleeper(in database: String) throws {
        try eventually("a statement that sleeps is cancelled") {
            try query(
                """
                SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                WHERE wait_event = 'PgSleep' AND datname = current_database()
                """, database: database
            ).count == 1
        }
    }

    private func databaseName(of database: String) -> String {
        guard let range = database.range(of: "dbname=") else { return database }
        return String(database[range.upperBound...].prefix { $0 != " " })
    }

    private func postmaster() throws -> pid_t {
        let file = try readFile("\(directory)/data/postmaster.pid")
        guard let pid = file.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw TestFailure("the cluster is not running")
        }
        return pid
    }
}

/// The data directory that initdb creates once for the process. Clusters are copies of it.
private enum Template {
    private static let made = Monitor<Result<(ClusterCleanup, String), any Error>?>(nil)

    static func shared() throws -> String {
        try made.withLock { made in
            if let made { return try made.get().1 }
            let result = Result { try make() }
            made = result
            return try result.get().1
        }
    }

    private static func make() throws -> (ClusterCleanup, String) {
        let directory = try makeTemporaryDirectory()
        let cleanup = try ClusterCleanup(directory: directory)
        let data = "\(directory)/template"
        try runOrThrow(
            asDatabaseUser([
                try PrivateCluster.program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-locale", "-E",
                "UTF8",
                "--no-sync",
            ]))
        return (cleanup, data)
    }
}
