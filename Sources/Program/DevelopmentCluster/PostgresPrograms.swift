import FoundationEssentials
import Glibc

/// The programs of a PostgreSQL server, which Debian keeps out of PATH.
public struct PostgresPrograms: Sendable {
    private let directory: String

    /// Finds the programs that pg_config names, else the newest ones of Debian, else those in PATH.
    ///
    /// - Parameter version: the wanted major version; `nil` for any.
    public static func find(version: String?) throws(DevelopmentClusterError) -> PostgresPrograms {
        try find(version: version, in: candidates())
    }

    /// Finds the programs in the first of `directories` that contains all of them.
    static func find(version: String?, in directories: [String]) throws(DevelopmentClusterError) -> PostgresPrograms {
        let found = directories.map(PostgresPrograms.init(directory:)).first { programs in
            ["initdb", "pg_ctl", "postgres"].allSatisfy { access(programs.path($0), X_OK) == 0 }
                && (version == nil || programs.version == version)
        }
        guard let found else { throw .notInstalled(version: version) }
        return found
    }

    /// The path of a program.
    public func path(_ program: String) -> String { directory + "/" + program }

    /// The major version: `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)` says 15.
    private var version: String? {
        let words = Subprocess([path("postgres"), "-V"]).run().output.split(separator: " ")
        return words.count > 2 ? words[2].split(whereSeparator: { !$0.isNumber }).first.map(String.init) : nil
    }

    private static func candidates() -> [String] {
        let configured = Subprocess(["pg_config", "--bindir"]).run().output.split(separator: "\n").map(String.init)
        let debian = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
        let newestFirst = versions.sorted { Double($0) ?? 0 > Double($1) ?? 0 }
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return configured + newestFirst.map { "\(debian)/\($0)/bin" } + search.split(separator: ":").map(String.init)
    }
}
