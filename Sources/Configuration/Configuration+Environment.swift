import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdSockets
import Glibc

extension Configuration {
    /// What a command needs of the database settings.
    public enum DatabaseNeed: Sendable {
        /// One must be named.
        case required
        /// If none is named, the private cluster is it.
        case privateClusterIfAbsent
        /// The command can do without.
        case optional
    }

    /// Reads the environment.
    ///
    /// - Parameters:
    ///   - environment: the variables; those that chatterd does not know are left alone unless they begin with `CHATTERD_`.
    ///   - database: what the command needs.
    ///   - readFile: reads the files that variables name.
    /// - Throws: all that is wrong, at once.
    public init(
        environment: [String: String], database: DatabaseNeed = .required,
        readFile: @escaping ConfigurationFile.Read = ConfigurationFile.read
    ) throws(ConfigurationError) {
        var reader = SettingReader(environment: environment, readFile: readFile)
        server = Server(&reader)
        upstreams = Upstreams(&reader, environment: environment, readFile: readFile)
        store = Store(&reader, need: database)
        relay = Relay(&reader)
        log = Logging(appID: reader.choice(.logAppID).flatMap(Log.AppID.init(rawValue:)) ?? .hash)
        given = reader.given
        guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    }
}

extension Configuration.Server {
    fileprivate init(_ reader: inout SettingReader) {
        listen = reader.hostAndPort(.listen) ?? HostAndPort(host: "127.0.0.1", port: 0)
        tls = Configuration.TLS(&reader)
        browsers = BrowserPolicy(&reader)
        shards = reader.number(.shards) ?? max(1, min(256, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        shutdownDelay = reader.duration(.shutdownDelay)
        memory = reader.isSet(.memory) ? reader.number(.memory) : nil
        shutdownLimit = reader.duration(.shutdownLimit)
        maximumConnections = reader.number(.maximumConnections) ?? 0
        requestLineLimit = reader.number(.requestLineLimit) ?? 0
        headLimit = reader.number(.headLimit) ?? 0
        fieldsLimit = reader.number(.fieldsLimit) ?? 0
        bodyLimit = reader.number(.bodyLimit) ?? 0
        headTimeout = reader.duration(.headTimeout)
        bodyTimeout = reader.duration(.bodyTimeout)
        bodyMinimumRate = reader.number(.bodyMinimumRate) ?? 0
        idleTimeout = reader.duration(.idleTimeout)
        writeTimeout = reader.duration(.writeTimeout)
        unsentLimit = reader.number(.unsentLimit) ?? 0
    }
}

extension BrowserPolicy {
    fileprivate init(_ reader: inout SettingReader) {
        var hosts: Set<HostName>? = []
        for text in reader.list(.hosts) {
            if text == "*" {
                hosts = nil
            } else if let host = HostName(text) {
                hosts?.insert(host)
            } else {
                reader.report(
                    "\(Setting.hosts.name): \"\(SettingReader.excerpt(text))\" is not a name such as chat.example, "
                        + "without scheme, port and path")
            }
        }
        var origins: Set<WebOrigin> = []
        for text in reader.list(.origins) {
            if let origin = WebOrigin(parsing: text) {
                origins.insert(origin)
            } else {
                reader.report(
                    "\(Setting.origins.name): \"\(SettingReader.excerpt(text))\" is not an origin such as "
                        + "https://app.example or http://localhost:3000, without a path; each is listed by itself")
            }
        }
        self.init(hosts: hosts, origins: origins)
    }
}

extension Configuration.TLS {
    fileprivate init?(_ reader: inout SettingReader) {
        let settings: [Setting] = [.tlsListen, .tlsCertificate, .tlsKey]
        let missing = settings.filter { !reader.isSet($0) }
        if !missing.isEmpty, missing.count < settings.count {
            let names = missing.map(\.name).joined(separator: " and ")
            reader.report(
                "HTTPS needs all of CHATTERD_TLS_LISTEN, CHATTERD_TLS_CERT and CHATTERD_TLS_KEY: set \(names)")
        }
        let listen = reader.hostAndPort(.tlsListen)
        let certificate = reader.text(.tlsCertificate)
        let key = reader.text(.tlsKey)
        guard let listen, let certificate, let key else { return nil }
        self.init(listen: listen, certificate: certificate, key: key)
    }
}

extension Configuration.Store {
    fileprivate init(_ reader: inout SettingReader, need: Configuration.DatabaseNeed) {
        connections = reader.number(.storeConnections) ?? 0
        timeout = reader.duration(.storeTimeout)
        unavailableTimeout = reader.duration(.storePatience)
        waiting = reader.number(.storeWaiting) ?? 0
        startTimeout = reader.duration(.storeStartTimeout)
        if let conninfo = reader.text(.database) {
            database = .conninfo(ConfigurationSecret(conninfo))
            if !Configuration.isConninfo(conninfo) {
                reader.report(
                    "DATABASE_URL is neither a URL such as postgresql://user@host:5432/name "
                        + "nor a conninfo string such as \"host=localhost dbname=name\"")
            }
        } else if reader.isAnySet(["PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"]) {
            database = .libpqEnvironment
        } else if need == .privateClusterIfAbsent {
            database = .privateCluster
        } else {
            database = .notGiven
            if need == .required, !reader.isSet(.database) {
                reader.report(
                    "no database is named: set DATABASE_URL (postgresql://user@host:5432/name) or libpq's PGHOST and "
                        + "PGDATABASE, or start with `chatterd serve --dev` for a private one")
            }
        }
    }
}

extension Configuration.Relay {
    fileprivate init(_ reader: inout SettingReader) {
        failoverAttempts = reader.number(.failoverAttempts) ?? 0
        rescueAttempts = reader.number(.rescueAttempts) ?? 0
        upstreamRestartWait = reader.duration(.upstreamRestartWait)
        disconnectGrace = reader.duration(.disconnectGrace)
        keepAlive = reader.duration(.keepAlive)
        maximumReplies = reader.number(.maximumReplies) ?? 0
        maximumWaitingTurns = reader.number(.maximumWaitingTurns) ?? 0
        historyLimit = reader.number(.historyLimit) ?? 0
        conversationLimit = reader.number(.conversationLimit) ?? 0
        boardLimit = reader.number(.boardLimit) ?? 0
        journalTick = reader.duration(.journalTick)
        keyLifetime = reader.duration(.keyLifetime)
        retention = reader.isSet(.retention) ? reader.duration(.retention) : nil
    }
}
