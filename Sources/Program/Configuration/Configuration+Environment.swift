import ChatterdChat
import ChatterdHTTPServer

extension Configuration {
    /// The database settings that a command needs.
    public enum DatabaseNeed: Sendable {
        /// A database must be named.
        case required
        /// The private cluster is used if no database is named.
        case privateClusterIfAbsent
        /// The command works without a database.
        case optional
    }

    /// Reads the environment.
    ///
    /// - Parameters:
    ///   - environment: the variables. Unknown ones are ignored unless they begin with `CHATTERD_`.
    ///   - database: the settings that the command needs.
    ///   - readFile: reads the files that variables name.
    /// - Throws: all problems at once.
    public init(
        environment: [String: String], database: DatabaseNeed = .required,
        readFile: @escaping ConfigurationFile.Read = ConfigurationFile.read
    ) throws(ConfigurationError) {
        self.init()
        var reader = SettingReader(environment: environment, readFile: readFile)
        reader.read(into: &self)
        upstreams.complete(&reader, environment: environment)
        store.chooseDatabase(database, &reader)
        tracing.complete(&reader)
        Self.checkTLS(&reader)
        access.complete(server, hasAdminToken: upstreams.adminToken != nil)
        // The upstream is paused at the limit; one more read of it may be on its way.
        http.unsentOutput = streams.unsentLimit + 4 * upstreams.defaults.limits.line
        given = reader.given
        guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    }

    private static func checkTLS(_ reader: inout SettingReader) {
        let settings: [Setting] = [.tlsListen, .tlsCertificate, .tlsKey]
        let missing = settings.filter { !reader.isSet($0) }
        guard !missing.isEmpty, missing.count < settings.count else { return }
        let names = missing.map(\.name).joined(separator: " and ")
        reader.report("HTTPS needs all of CHATTERD_TLS_LISTEN, CHATTERD_TLS_CERT and CHATTERD_TLS_KEY: set \(names)")
    }
}

extension Configuration.Store {
    /// Chooses the database if `DATABASE_URL` names none.
    fileprivate mutating func chooseDatabase(_ need: Configuration.DatabaseNeed, _ reader: inout SettingReader) {
        guard database == .notGiven, !reader.isSet(.database) else { return }
        if reader.isAnySet(["PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"]) {
            database = .libpqEnvironment
        } else if need == .privateClusterIfAbsent {
            database = .privateCluster
        } else if need == .required {
            reader.report(
                "no database is named: set DATABASE_URL (postgresql://user@host:5432/name) or libpq's PGHOST and "
                    + "PGDATABASE, or start with `chatterd serve --dev` for a private one")
        }
    }
}
