import ChatterdChat
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdModelServers
import ChatterdRelay

extension Setting {
    /// The description of the variable: its row in the table.
    public var entry: Entry {
        switch self {
        case .listen:
            .plain(
                .process, .hostAndPort { $0.server.listen = $1 }, "127.0.0.1:8080",
                "The address of plain HTTP; port 0 picks a free one.")
        case .tlsListen:
            .option(
                .process, .hostAndPort { $0.server.tlsListen = $1 }, "off",
                "The address of HTTPS; needs certificate and key.")
        case .tlsCertificate:
            .option(
                .process, .file { $0.server.tlsCertificate = $1 }, "off",
                "The PEM file of the certificate chain, read again on SIGHUP.")
        case .tlsKey:
            .option(
                .process, .file { $0.server.tlsKey = $1 }, "off",
                "The PEM file of the certificate's private key, read again on SIGHUP.")
        case .metricsListen:
            .option(
                .process, .hostAndPort { $0.server.metricsListen = $1 }, "off",
                "The address of [metrics](operating.md#metrics) for Prometheus, such as 127.0.0.1:9464; it needs no key."
            )
        case .access:
            .option(
                .process, .choice { $0.access.configuredMode = $1 }, "open on the loopback, else keys",
                "Whether requests need a key or a token: open or keys, see [access.md](access.md).")
        case .userAgentApps:
            .plain(
                .process, .flag { $0.access.namesAppsByUserAgent = $1 }, "0",
                "Whether User-Agent names the app at the front doors in open mode: [doors.md](doors.md#memory)."
            )
        case .doors:
            .plain(
                .process, .choice { $0.access.doorPolicy = $1 }, "lenient",
                "Whether the front doors ignore or refuse what no model server can do: [doors.md](doors.md#ignored-members)."
            )
        case .chatNames:
            .option(
                .process,
                .list(of: "names") { configuration, value throws(SettingProblem) in
                    try configuration.access.setChatNames(value)
                }, "the known ones",
                "Fields and members in which programs name their chats to the front doors, or none: [doors.md](doors.md#memory)."
            )
        case .issuers:
            .option(
                .process,
                .jsonObject { configuration, value throws(SettingProblem) in try configuration.access.setIssuers(value)
                }, "none",
                "Issuers whose tokens apps accept, see [issuers.md](issuers.md).", secret: true)
        case .hosts:
            .option(
                .process,
                .list(of: "names") { configuration, value throws(SettingProblem) in
                    try configuration.server.setHosts(value)
                }, "none",
                "Host names that clients may use, besides numeric addresses and localhost; * for any.")
        case .origins:
            .option(
                .process,
                .list(of: "origins") { configuration, value throws(SettingProblem) in
                    try configuration.server.setOrigins(value)
                }, "none",
                "Origins of web pages that may use the server, besides its own, such as https://app.example.")
        case .pageApp:
            .plain(
                .process,
                .text { configuration, value throws(SettingProblem) in try configuration.server.setPageApp(value) },
                "web", "The app of the conversations of the web page in open mode; all browsers share them.")
        case .weather:
            .plain(
                .process, .url { $0.server.weather = $1 }, "https://api.open-meteo.com",
                "The service that /weather asks, with the API of Open-Meteo.")
        case .shards:
            .option(
                .process, .count(1...256, of: "threads") { $0.server.shards = $1 }, "number of cores",
                "The number of event loops.")
        case .shutdownDelay:
            .plain(
                .process, .duration(.zero ... .minutes(10)) { $0.server.shutdownDelay = $1 }, "0s",
                "Time after SIGTERM in which /readyz says 503 and prompts are still accepted, so that a balancer can fail over."
            )
        case .memory:
            .limit(
                .process, .bytes(64 << 20...1 << 44) { $0.server.memory = $1 }, .absent("half of the available memory"),
                "Memory budget of the process; requests beyond it get 503, see [limits.md](limits.md).")
        case .shutdownLimit:
            .plain(
                .process, .duration(.zero ... .hours(1)) { $0.server.shutdownLimit = $1 }, "25s",
                "The time that running replies have to end after SIGTERM.")
        case .logAppID:
            .plain(
                .process, .choice { $0.log.appID = $1 }, "hash",
                "How request lines show the appID: hashed with a salt of the process, unchanged, or omitted.")

        case .database:
            .option(
                .database,
                .text { configuration, value throws(SettingProblem) in try configuration.store.setConninfo(value) },
                "libpq's PG* variables",
                "The PostgreSQL database, as any libpq URL or conninfo string, several hosts included.", secret: true)
        case .storeConnections:
            .limit(
                .database, .count(1...100, of: "connections") { $0.store.connections = $1 }, "4",
                "Connections to PostgreSQL of each shard. The process has two more.")
        case .storeTimeout:
            .limit(
                .database, .duration(.milliseconds(100) ... .minutes(10)) { $0.store.timeout = $1 }, "10s",
                "The time for one batch of statements.")
        case .storeRetryTimeout:
            .limit(
                .database, .duration(.zero ... .minutes(10)) { $0.relay.storeRetryTimeout = $1 }, "10s",
                "Timeout of the readers of a finished answer while the store is unavailable; the answer itself waits longer."
            )
        case .storeWaiting:
            .limit(
                .database, .count(1...1_000_000, of: "batches") { $0.store.maximumWaiting = $1 }, "20000",
                "Batches that wait for a connection; more are refused.")
        case .storeStartTimeout:
            .limit(
                .database, .duration(.zero ... .hours(1)) { $0.store.startTimeout = $1 }, "60s",
                "The time for which the start waits for PostgreSQL.")

        case .ollama:
            .plain(
                .upstreams, .url { $0.upstreams.ollama = $1 }, "http://127.0.0.1:11434",
                "The first model server, an Ollama; the default counts only without CHATTERD_UPSTREAMS.")
        case .upstreams:
            .option(
                .upstreams,
                .jsonList { configuration, value throws(SettingProblem) in try configuration.upstreams.addList(value) },
                "none", "More model servers, see below.",
                secret: true)
        case .echo:
            .plain(
                .upstreams, .flag { $0.upstreams.offersEcho = $1 }, "0", "Whether the built-in model echo is offered.")
        case .defaultModel:
            .option(
                .upstreams,
                .text { configuration, value throws(SettingProblem) in
                    try configuration.upstreams.setDefaultModel(value)
                }, "none",
                "The model of a prompt that names none.")
        case .adminToken:
            .option(
                .upstreams,
                .text { configuration, value throws(SettingProblem) in try configuration.upstreams.setAdminToken(value)
                }, "no changes",
                "The bearer token for changes of the list of model servers at run time.", secret: true)
        case .keyDirectory:
            .option(
                .upstreams, .directory { $0.upstreams.keyDirectory = $1 }, "none",
                "Below it are the files that may be named through the API: keys, authorities.")
        case .upstreamConnections:
            .limit(
                .upstreams, .count(0...65_535, of: "connections") { $0.upstreams.connections = $1 }, "1024",
                "Idle connections kept for each model server and shard.")
        case .upstreamConnectTimeout:
            .limit(
                .upstreams, .duration(.milliseconds(10) ... .minutes(5)) { $0.upstreams.defaults.connectTimeout = $1 },
                "5s", "The time to connect to a model server."
            )
        case .upstreamFirstByteTimeout:
            .limit(
                .upstreams, .duration(.milliseconds(10) ... .hours(24)) { $0.upstreams.defaults.limits.firstByte = $1 },
                "5m",
                "The time until the first byte of an answer, loading the model included.")
        case .upstreamSilenceTimeout:
            .limit(
                .upstreams, .duration(.milliseconds(10) ... .hours(24)) { $0.upstreams.defaults.limits.silence = $1 },
                "60s",
                "The longest silence of a model server in the middle of an answer.")
        case .upstreamTotalTimeout:
            .limit(
                .upstreams, .duration(.milliseconds(10) ... .hours(24)) { $0.upstreams.defaults.limits.total = $1 },
                "30m", "The time for a whole answer.")
        case .upstreamLineLimit:
            .limit(
                .upstreams, .bytes(1_024...1 << 30) { $0.upstreams.defaults.limits.line = $1 }, "1MiB",
                "One line of a model server's answer.")
        case .answerLimit:
            .limit(
                .upstreams, .bytes(1_024...1 << 28) { $0.upstreams.defaults.limits.answer = $1 }, "16MiB",
                "The text of one answer.")

        case .failoverAttempts:
            .limit(
                .upstreams, .count(0...100, of: "requests") { $0.relay.failoverAttempts = $1 }, "4",
                "More requests to model servers for a reply whose first ones failed before it had begun; 0 for none."
            )
        case .rescueAttempts:
            .limit(
                .upstreams, .count(0...100, of: "requests") { $0.relay.rescueAttempts = $1 }, "2",
                "More requests for a reply that broke off: a model server continues or restarts it; 0 for none.")
        case .checksForms:
            .plain(
                .upstreams, .flag { $0.relay.checksForms = $1 }, "1",
                "Whether a complete answer is checked against `format`, and repaired once: [schemas.md](schemas.md).")
        case .upstreamRestartWait:
            .limit(
                .upstreams, .duration(.zero ... .hours(1)) { $0.relay.restartWait = $1 }, "30s",
                "Timeout of a reply whose model server is unreachable, if no other server has the model; 0 for no wait."
            )
        case .tools:
            .option(
                .upstreams,
                .jsonList { configuration, value throws(SettingProblem) in try configuration.tools.setList(value) },
                "none",
                "The tools that run on this server for prompts to /llmtools, and servers that have some: [tools.md](tools.md).",
                secret: true)
        case .toolRounds:
            .limit(
                .upstreams, .count(1...64, of: "requests") { $0.relay.toolRounds = $1 }, "8",
                "Requests of a reply in which the model may call tools of the server; the one after them has no tools.")
        case .hooks:
            .option(
                .upstreams,
                .jsonList { configuration, value throws(SettingProblem) in try configuration.hooks.setList(value) },
                "none",
                "Servers that check prompts and answers, or learn of the ends of replies: [hooks.md](hooks.md).",
                secret: true)

        case .disconnectGrace:
            .limit(
                .replies, .duration(.zero ... .hours(24)) { $0.relay.disconnectGrace = $1 }, "30s",
                "The time that a reply continues without a reader; 0 cancels it at once.")
        case .keepAlive:
            .plain(
                .replies, .duration(.milliseconds(100) ... .hours(1)) { $0.streams.keepAlive = $1 }, "15s",
                "The silence on a stream after which a comment line is sent.")
        case .maximumReplies:
            .limit(
                .replies, .count(1...1_000_000, of: "replies") { $0.relay.maximumReplies = $1 }, "10000",
                "Replies that run at once in the process. One app gets half of them.")
        case .maximumWaitingTurns:
            .limit(
                .replies, .count(0...10_000, of: "turns") { $0.relay.maximumWaitingTurns = $1 }, "16",
                "Turns of one conversation that wait for the one before.")
        case .historyLimit:
            .limit(
                .replies, .bytes(1_024...1 << 32) { $0.store.historyLimit = $1 }, "64MiB",
                "The history that is replayed to a model server.")
        case .historyCache:
            .limit(
                .replies, .bytes(0...1 << 36) { $0.store.historyCache = $1 }, "256MiB",
                "The histories of long conversations that a process keeps in memory for their next prompts; `0` for none."
            )
        case .conversationLimit:
            .limit(
                .replies, .bytes(1_024...1 << 44) { $0.store.conversationLimit = $1 }, "1GiB",
                "Size limit of a conversation, failed turns included; a full conversation accepts no prompt.")
        case .attachmentsLimit:
            .limit(
                .replies, .bytes(0...1 << 44) { $0.store.attachmentsLimit = $1 }, "10GiB",
                "Size limit of the images of an app, each counted once. `0` for no limit.")
        case .textLimit:
            .limit(
                .replies, .bytes(0...1 << 44) { $0.store.textLimit = $1 }, "100GiB",
                "Size limit of the conversations of an app and of its people. `0` for no limit.")
        case .personTextLimit:
            .limit(
                .replies, .bytes(0...1 << 44) { $0.store.personTextLimit = $1 }, "10GiB",
                "Size limit of the conversations of a person. `0` for no limit.")
        case .boardLimit:
            .limit(
                .replies, .count(1...1_000_000, of: "rows") { $0.store.boardLimit = $1 }, "1000",
                "Rows of the chat board in one /getchatts.")
        case .journalTick:
            .plain(
                .replies, .duration(.milliseconds(20) ... .seconds(5)) { $0.relay.journalTick = $1 }, "200ms",
                "The interval at which the new text of running replies is stored.")
        case .keyLifetime:
            .plain(
                .replies, .duration(.seconds(1) ... .hours(24 * 365)) { $0.store.keyLifetime = $1 }, "24h",
                "The time for which an Idempotency-Key is kept.")
        case .retention:
            .option(
                .replies, .duration(.seconds(1) ... .hours(24 * 3_650)) { $0.store.retention = $1 }, "all are kept",
                "The time without an addition after which a conversation is removed.")

        case .maximumConnections:
            .limit(
                .clients, .count(1...1_000_000, of: "connections") { $0.http.connections = $1 }, "10000",
                "Client connections of the process; more wait in the system's queue. Requests of one app get half."
            )
        case .requestLineLimit:
            .limit(.clients, .bytes(256...1 << 20) { $0.http.head.startLine = $1 }, "8KiB", "The request line.")
        case .headLimit:
            .limit(
                .clients, .bytes(1_024...1 << 24) { ($0.http.head.total, $0.http.head.fieldLine) = ($1, $1) }, "32KiB",
                "The whole head of a request.")
        case .fieldsLimit:
            .limit(
                .clients, .count(8...10_000, of: "fields") { $0.http.head.fields = $1 }, "100",
                "Header fields of a request.")
        case .bodyLimit:
            .limit(.clients, .bytes(1_024...1 << 30) { $0.http.body.body = $1 }, "32MiB", "The body of a request.")
        case .headTimeout:
            .limit(
                .clients, .duration(.milliseconds(100) ... .hours(1)) { $0.http.headDeadline = $1 }, "10s",
                "The time for a request's head to be complete.")
        case .bodyTimeout:
            .limit(
                .clients, .duration(.milliseconds(100) ... .hours(1)) { $0.http.bodyDeadline = $1 }, "60s",
                "The time for a request's body to be complete.")
        case .bodyMinimumRate:
            .limit(
                .clients, .rate(0...1 << 30) { $0.http.bodyRate = $1 }, "1KiB",
                "The slowest pace at which a body may come; 0 allows any.")
        case .idleTimeout:
            .limit(
                .clients, .duration(.milliseconds(100) ... .hours(24)) { $0.http.idle = $1 }, "75s",
                "The time for which a connection without a request is kept.")
        case .writeTimeout:
            .limit(
                .clients, .duration(.milliseconds(100) ... .hours(1)) { $0.http.writeStall = $1 }, "30s",
                "The time after which a client that accepts no output is disconnected.")
        case .unsentLimit:
            .limit(
                .clients, .bytes(4_096...1 << 30) { $0.streams.unsentLimit = $1 }, "1MiB",
                "Bytes kept for a slow client before its model server is paused.")

        case .collector:
            .option(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setBase(value) },
                "off",
                "The collector of [traces](operating.md#traces), such as http://127.0.0.1:4318; /v1/traces follows.")
        case .traceCollector:
            .option(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setURL(value) },
                "off", "The same as a whole URL, such as http://127.0.0.1:4318/v1/traces.")
        case .collectorFields, .traceCollectorFields:
            .option(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setFields(value) },
                "none", "Header fields for the collector: name=value,name=value, with values encoded as in URLs.",
                secret: true)
        case .collectorProtocol:
            .plain(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setProtocol(value) },
                "http/json", "How spans are sent: http/json, or http/protobuf, which means the same here.")
        case .traceCollectorProtocol:
            .option(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setProtocol(value) },
                "the same", "How spans are sent, in the place of OTEL_EXPORTER_OTLP_PROTOCOL.")
        case .collectorTimeout:
            .limit(
                .traces, .count(100...60_000, of: "milliseconds") { $0.tracing.timeout = .milliseconds($1) }, "10000",
                "The limit of an attempt to send spans.")
        case .traceCollectorTimeout:
            .limit(
                .traces, .count(100...60_000, of: "milliseconds") { $0.tracing.timeout = .milliseconds($1) },
                .absent("the same"), "The same limit, in the place of OTEL_EXPORTER_OTLP_TIMEOUT.")
        case .collectorAuthorities, .traceCollectorAuthorities:
            .option(
                .traces, .file { $0.tracing.authorities = $1 }, "the system's",
                "A PEM file of authorities for the certificate of the collector, beside those of the system.")
        case .serviceName:
            .option(
                .traces,
                .text { configuration, value throws(SettingProblem) in
                    try configuration.tracing.setServiceName(value)
                },
                "chatterd", "The name of the process in its traces.")
        case .resourceAttributes:
            .option(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setAttributes(value) },
                "none", "Attributes of the process in its traces, in the form of the header fields.")
        case .traceSampler:
            .plain(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setSampler(value) },
                "parentbased_always_on",
                "Which traces are recorded; parentbased means as the request says, if it names a trace.")
        case .traceSamplerArgument:
            .plain(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setShare(value) },
                "1", "The share of the traces for the samplers with traceidratio, from 0 to 1.")
        case .traceExporter:
            .plain(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setExporter(value) },
                "otlp", "Whether traces are sent: otlp or none.")
        case .isTracingDisabled:
            .plain(
                .traces,
                .text { configuration, value throws(SettingProblem) in try configuration.tracing.setDisabled(value) },
                "false", "Whether nothing is traced: true or false.")
        case .spanDelay:
            .plain(
                .traces, .count(10...60_000, of: "milliseconds") { $0.tracing.delay = .milliseconds($1) }, "5000",
                "The pause between two batches of spans, unless one is full.")
        case .spanQueue:
            .limit(
                .traces, .count(16...1_048_576, of: "spans") { $0.tracing.queueSize = $1 }, "2048",
                "Spans that wait for the collector; further ones are dropped and counted.")
        case .spanBatch:
            .limit(
                .traces, .count(1...8_192, of: "spans") { $0.tracing.batchSize = $1 }, "512",
                "Spans in one request to the collector.")
        }
    }
}

extension Setting.Entry {
    fileprivate static func plain(
        _ group: Setting.Group, _ form: SettingForm, _ standard: String, _ meaning: String
    ) -> Self {
        Self(group: group, form: form, standard: .value(standard), meaning: meaning, isSecret: false, isLimit: false)
    }

    fileprivate static func limit(
        _ group: Setting.Group, _ form: SettingForm, _ standard: String, _ meaning: String
    ) -> Self {
        .limit(group, form, .value(standard), meaning)
    }

    fileprivate static func limit(
        _ group: Setting.Group, _ form: SettingForm, _ standard: Setting.Default, _ meaning: String
    ) -> Self {
        Self(group: group, form: form, standard: standard, meaning: meaning, isSecret: false, isLimit: true)
    }

    fileprivate static func option(
        _ group: Setting.Group, _ form: SettingForm, _ absence: String, _ meaning: String, secret: Bool = false
    ) -> Self {
        Self(group: group, form: form, standard: .absent(absence), meaning: meaning, isSecret: secret, isLimit: false)
    }
}

extension Duration {
    fileprivate static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
    fileprivate static func hours(_ count: Int) -> Duration { .seconds(3_600 * count) }
}
