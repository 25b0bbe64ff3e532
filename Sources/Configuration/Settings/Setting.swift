import ChatterdJSONLog

/// One environment variable that the server reads; the raw value is its name.
///
/// The one table of them is in `Setting+Table.swift`: parsing, `chatterd help` and the test that holds
/// docs/configuration.md to the code all read it.
public enum Setting: String, CaseIterable, Sendable {
    case listen = "CHATTERD_LISTEN"
    case tlsListen = "CHATTERD_TLS_LISTEN"
    case tlsCertificate = "CHATTERD_TLS_CERT"
    case tlsKey = "CHATTERD_TLS_KEY"
    case hosts = "CHATTERD_HOSTS"
    case origins = "CHATTERD_ORIGINS"
    case shards = "CHATTERD_SHARDS"
    case shutdownDelay = "CHATTERD_SHUTDOWN_DELAY"
    case memory = "CHATTERD_MEMORY"
    case shutdownLimit = "CHATTERD_SHUTDOWN_LIMIT"
    case logAppID = "CHATTERD_LOG_APPID"

    case database = "DATABASE_URL"
    case storeConnections = "CHATTERD_STORE_CONNECTIONS"
    case storeTimeout = "CHATTERD_STORE_TIMEOUT"
    case storePatience = "CHATTERD_STORE_PATIENCE"
    case storeWaiting = "CHATTERD_STORE_WAITING"
    case storeStartTimeout = "CHATTERD_STORE_START_TIMEOUT"

    case ollama = "OLLAMA_URL"
    case upstreams = "CHATTERD_UPSTREAMS"
    case echo = "CHATTERD_ECHO"
    case defaultModel = "CHATTERD_DEFAULT_MODEL"
    case adminToken = "CHATTERD_ADMIN_TOKEN"
    case keyDirectory = "CHATTERD_KEY_DIR"
    case upstreamConnections = "CHATTERD_UPSTREAM_CONNECTIONS"
    case upstreamConnectTimeout = "CHATTERD_UPSTREAM_CONNECT_TIMEOUT"
    case upstreamFirstByteTimeout = "CHATTERD_UPSTREAM_FIRST_BYTE_TIMEOUT"
    case upstreamSilenceTimeout = "CHATTERD_UPSTREAM_SILENCE_TIMEOUT"
    case upstreamTotalTimeout = "CHATTERD_UPSTREAM_TOTAL_TIMEOUT"
    case upstreamLineLimit = "CHATTERD_UPSTREAM_LINE_LIMIT"
    case answerLimit = "CHATTERD_ANSWER_LIMIT"
    case failoverAttempts = "CHATTERD_FAILOVER_ATTEMPTS"
    case rescueAttempts = "CHATTERD_RESCUE_ATTEMPTS"
    case upstreamRestartWait = "CHATTERD_UPSTREAM_RESTART_WAIT"

    case disconnectGrace = "CHATTERD_DISCONNECT_GRACE"
    case keepAlive = "CHATTERD_KEEPALIVE"
    case maximumReplies = "CHATTERD_MAX_REPLIES"
    case maximumWaitingTurns = "CHATTERD_MAX_WAITING_TURNS"
    case historyLimit = "CHATTERD_HISTORY_LIMIT"
    case conversationLimit = "CHATTERD_CONVERSATION_LIMIT"
    case boardLimit = "CHATTERD_BOARD_LIMIT"
    case journalTick = "CHATTERD_JOURNAL_TICK"
    case keyLifetime = "CHATTERD_IDEMPOTENCY_TTL"
    case retention = "CHATTERD_RETENTION"

    case maximumConnections = "CHATTERD_MAX_CONNECTIONS"
    case requestLineLimit = "CHATTERD_REQUEST_LINE_LIMIT"
    case headLimit = "CHATTERD_HEAD_LIMIT"
    case fieldsLimit = "CHATTERD_FIELDS_LIMIT"
    case bodyLimit = "CHATTERD_BODY_LIMIT"
    case headTimeout = "CHATTERD_HEAD_TIMEOUT"
    case bodyTimeout = "CHATTERD_BODY_TIMEOUT"
    case bodyMinimumRate = "CHATTERD_BODY_MIN_RATE"
    case idleTimeout = "CHATTERD_IDLE_TIMEOUT"
    case writeTimeout = "CHATTERD_WRITE_TIMEOUT"
    case unsentLimit = "CHATTERD_UNSENT_LIMIT"

    /// The variable's name.
    public var name: String { rawValue }

    /// The variable that names a file with the value instead.
    public var fileName: String { "\(rawValue)_FILE" }
}

extension Setting {
    /// The form of a value, with its bounds.
    public enum Kind: Sendable, Equatable {
        /// Any text.
        case text
        /// `host:port`.
        case hostAndPort
        /// `http://host:port` or `https://…`.
        case url
        /// `500ms`, `30s`, `5m`, `1h`, or a bare number of seconds.
        case duration(ClosedRange<Duration>)
        /// `64KiB`, `8MiB`, `1GiB`, or a bare number of bytes.
        case bytes(ClosedRange<Int>)
        /// `1KiB` and the like, each second.
        case rate(ClosedRange<Int>)
        /// A whole number of the things named.
        case count(ClosedRange<Int>, of: String)
        /// `0` or `1`.
        case flag
        /// One of a few words.
        case choice([String])
        /// The path of a file.
        case path
        /// A list of these things, separated by commas.
        case list(of: String)
        /// A JSON text, or the path of a file that holds it.
        case json
    }

    /// The value of a variable that is not set.
    public enum Default: Sendable, Equatable {
        /// A value in the variable's own form.
        case value(String)
        /// No value; the words say what happens then.
        case absent(String)
    }

    /// The part of the server that a variable is about; also the order of the lists.
    public enum Group: String, CaseIterable, Sendable {
        case process = "Process"
        case database = "PostgreSQL"
        case upstreams = "Model servers"
        case replies = "Replies and conversations"
        case clients = "Clients"
    }

    /// What the table says of a variable.
    public struct Entry: Sendable {
        /// The part of the server that it is about.
        public let group: Group
        /// The form of its value.
        public let kind: Kind
        /// The value when it is not set.
        public let standard: Default
        /// Its meaning, in one sentence.
        public let meaning: String
        /// Whether its value is never shown.
        public let isSecret: Bool
        /// Whether it bounds a size, a count or a wait that a peer controls.
        public let isLimit: Bool
    }
}

extension Setting.Entry {
    /// The default, for people.
    public var standardText: String {
        switch standard {
        case .value(let text), .absent(let text): text
        }
    }

    /// The unit, for people.
    public var unit: String {
        switch kind {
        case .text: "text"
        case .hostAndPort: "host:port"
        case .url: "URL"
        case .duration: "time"
        case .bytes: "size"
        case .rate: "size a second"
        case .count(_, let noun): noun
        case .flag: "0 or 1"
        case .choice(let words): words.joined(separator: ", ")
        case .path: "path"
        case .list(let noun): "comma-separated \(noun)"
        case .json: "JSON or path"
        }
    }

    /// The bounds, for people; nil where there are none.
    public var bounds: String? {
        switch kind {
        case .duration(let range):
            "\(SettingText.duration(range.lowerBound)) to \(SettingText.duration(range.upperBound))"
        case .bytes(let range), .rate(let range):
            "\(SettingText.bytes(range.lowerBound)) to \(SettingText.bytes(range.upperBound))"
        case .count(let range, _): "\(range.lowerBound) to \(range.upperBound)"
        default: nil
        }
    }
}
