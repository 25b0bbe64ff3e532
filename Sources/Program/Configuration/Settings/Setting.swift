/// An environment variable that the server reads; the raw value is its name.
///
/// `Setting+Table.swift` describes each of them. The reading of the environment, `chatterd help` and the test of
/// docs/configuration.md use that table.
public enum Setting: String, CaseIterable, Sendable {
    case listen = "CHATTERD_LISTEN"
    case tlsListen = "CHATTERD_TLS_LISTEN"
    case tlsCertificate = "CHATTERD_TLS_CERT"
    case tlsKey = "CHATTERD_TLS_KEY"
    case metricsListen = "CHATTERD_METRICS_LISTEN"
    case access = "CHATTERD_ACCESS"
    case userAgentApps = "CHATTERD_USER_AGENT_APPS"
    case doors = "CHATTERD_DOORS"
    case chatNames = "CHATTERD_CHAT_NAMES"
    case issuers = "CHATTERD_ISSUERS"
    case hosts = "CHATTERD_HOSTS"
    case origins = "CHATTERD_ORIGINS"
    case pageApp = "CHATTERD_PAGE_APP"
    case weather = "CHATTERD_WEATHER_URL"
    case shards = "CHATTERD_SHARDS"
    case shutdownDelay = "CHATTERD_SHUTDOWN_DELAY"
    case memory = "CHATTERD_MEMORY"
    case shutdownLimit = "CHATTERD_SHUTDOWN_LIMIT"
    case logAppID = "CHATTERD_LOG_APPID"

    case database = "DATABASE_URL"
    case storeConnections = "CHATTERD_STORE_CONNECTIONS"
    case storeTimeout = "CHATTERD_STORE_TIMEOUT"
    case storeRetryTimeout = "CHATTERD_STORE_PATIENCE"
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
    case checksForms = "CHATTERD_CHECK_FORMAT"
    case upstreamRestartWait = "CHATTERD_UPSTREAM_RESTART_WAIT"

    case disconnectGrace = "CHATTERD_DISCONNECT_GRACE"
    case keepAlive = "CHATTERD_KEEPALIVE"
    case maximumReplies = "CHATTERD_MAX_REPLIES"
    case maximumWaitingTurns = "CHATTERD_MAX_WAITING_TURNS"
    case historyLimit = "CHATTERD_HISTORY_LIMIT"
    case historyCache = "CHATTERD_HISTORY_CACHE"
    case conversationLimit = "CHATTERD_CONVERSATION_LIMIT"
    case attachmentsLimit = "CHATTERD_ATTACHMENTS_LIMIT"
    case textLimit = "CHATTERD_TEXT_LIMIT"
    case personTextLimit = "CHATTERD_PERSON_TEXT_LIMIT"
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

    /// The name of the variable that names a file with the value instead.
    public var fileName: String { "\(rawValue)_FILE" }
}
