import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdSockets

/// All that the environment says, checked and turned into values.
public struct Configuration: Sendable {
    /// The listeners, and what a client may cost.
    public var server: Server
    /// The model servers, and what an answer may cost.
    public var upstreams: Upstreams
    /// PostgreSQL.
    public var store: Store
    /// Replies and conversations.
    public var relay: Relay
    /// What the log shows.
    public var log: Logging
    /// How long is waited where nobody can say it.
    public var patience = Patience()
    /// The variables that were set, with their values as they may be shown.
    public var given: [(name: String, shown: String)]

    /// The listeners, and what a client may cost.
    public struct Server: Sendable, Equatable {
        /// Where plain HTTP is served.
        public var listen: HostAndPort
        /// Where HTTPS is served beside it.
        public var tls: TLS?
        /// The accepted host names, and the web pages that may use the server.
        public var browsers: BrowserPolicy
        /// The number of event loops.
        public var shards: Int
        /// Time after SIGTERM in which `/readyz` says 503 and the server still accepts requests.
        public var shutdownDelay: Duration
        /// The memory budget of the process, in bytes; `nil` for half of the available memory.
        public var memory: Int?
        /// How long running replies may go on after SIGTERM.
        public var shutdownLimit: Duration
        /// Client connections of the process.
        public var maximumConnections: Int
        /// Bytes of the request line.
        public var requestLineLimit: Int
        /// Bytes of a request's head.
        public var headLimit: Int
        /// Header fields of a request.
        public var fieldsLimit: Int
        /// Bytes of a request's body.
        public var bodyLimit: Int
        /// The time for a head to be complete.
        public var headTimeout: Duration
        /// The time for a body to be complete.
        public var bodyTimeout: Duration
        /// Bytes a second below which a body is too slow; 0 allows any pace.
        public var bodyMinimumRate: Int
        /// How long a connection without a request is kept.
        public var idleTimeout: Duration
        /// How long a client may take nothing of what is sent to it.
        public var writeTimeout: Duration
        /// Bytes kept for a slow client before its model server is paused.
        public var unsentLimit: Int
    }

    /// HTTPS.
    public struct TLS: Sendable, Equatable {
        /// Where it is served.
        public var listen: HostAndPort
        /// The path of the certificate chain, PEM.
        public var certificate: String
        /// The path of its private key, PEM.
        public var key: String
    }

    /// The model servers, and what an answer may cost.
    public struct Upstreams: Sendable {
        /// The model servers that the environment names, in order.
        public var list: [UpstreamDescription]
        /// Idle connections kept for each model server and shard.
        public var connections: Int
        /// The time to connect, where an entry of the list does not say otherwise.
        public var connectTimeout: Duration
        /// The limits of an answer, where an entry of the list does not say otherwise.
        public var limits: GenerationLimits

        /// Where the keys of all model servers are found.
        public var keys: UpstreamKeys
        /// What may change the list of model servers, as a bearer token; nothing when nobody may.
        public var adminToken: ConfigurationSecret?
        /// The model of a prompt that names none.
        public var defaultModel: String?
        /// Whether `CHATTERD_ECHO` turns the built-in model off, for `serve --dev` too.
        public var refusesEcho: Bool

        /// What holds for a model server whose description does not say otherwise.
        public var defaults: UpstreamReader.Defaults {
            UpstreamReader.Defaults(connectTimeout: connectTimeout, limits: limits)
        }

        /// The built-in model, for a server whose model servers do not answer.
        public static var echo: UpstreamDescription {
            var echo = UpstreamDescription(name: "echo", kind: .echo)
            echo.models = ["echo"]
            return echo
        }
    }

    /// PostgreSQL.
    public struct Store: Sendable, Equatable {
        /// Which database.
        public var database: Database
        /// Connections of each shard.
        public var connections: Int
        /// The time for one batch of statements.
        public var timeout: Duration
        /// How long a finished answer waits for a store that is away.
        public var unavailableTimeout: Duration
        /// Batches that wait for a connection.
        public var waiting: Int
        /// How long the start waits for PostgreSQL.
        public var startTimeout: Duration
    }

    /// Which database.
    public enum Database: Sendable, Equatable {
        /// The one of a libpq URL or conninfo string.
        case conninfo(ConfigurationSecret)
        /// The one that libpq's own `PG*` variables name.
        case libpqEnvironment
        /// The private cluster of `serve --dev`.
        case privateCluster
        /// None: only for the commands that can do without.
        case notGiven
    }

    /// Replies and conversations.
    public struct Relay: Sendable, Equatable {
        /// Further requests for a reply that has not begun.
        public var failoverAttempts: Int
        /// Further requests for a reply that broke in the middle.
        public var rescueAttempts: Int
        /// Time that a reply waits for a model server that is unreachable or restarts.
        public var upstreamRestartWait: Duration
        /// How long a reply goes on when nobody reads it.
        public var disconnectGrace: Duration
        /// The silence on a stream after which a comment line is sent.
        public var keepAlive: Duration
        /// Replies that run at once in the process.
        public var maximumReplies: Int
        /// Turns of one conversation that wait for the one before.
        public var maximumWaitingTurns: Int
        /// Bytes of a history that is replayed.
        public var historyLimit: Int
        /// Maximum size of a conversation, in bytes.
        public var conversationLimit: Int
        /// Rows of the chat board in one answer.
        public var boardLimit: Int
        /// How often what running replies have grown by is stored.
        public var journalTick: Duration
        /// How long the name of a request is remembered.
        public var keyLifetime: Duration
        /// After what time without an addition a conversation is removed; nothing keeps all.
        public var retention: Duration?
    }

    /// What the log shows.
    public struct Logging: Sendable, Equatable {
        /// How the appID is shown.
        public var appID: Log.AppID
    }
}

extension Configuration: CustomStringConvertible {
    /// The variables that were set, a line each; secrets are not shown.
    public var description: String {
        given.map { "\($0.name)=\($0.shown)" }.joined(separator: "\n")
    }

    /// The texts that no log line may show: keys, and the database's conninfo with the password in it.
    public var secrets: [String] {
        // What cannot be found has no text that could be shown.
        var secrets = upstreams.list.compactMap { (try? upstreams.keys.key(of: $0))?.value }
        if let token = upstreams.adminToken {
            secrets.append(token.value)
        }
        if case .conninfo(let secret) = store.database {
            secrets.append(secret.value)
            secrets += Self.passwords(in: secret.value)
        }
        return secrets
    }
}
