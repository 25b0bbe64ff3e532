import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdTestSupport
import Glibc
import Testing

/// The whole program on its own port, over a real database and a scripted model server.
///
/// Its methods block: call them from `onStage`, or on threads of the test.
final class Stage: Sendable {
    let cluster: PrivateCluster
    /// The conninfo of the database.
    let database: String
    let port: Int
    let application: Application
    private let upstream: String
    private let environment: [Setting: String]

    /// Starts the program. A stage with a given database prolongs all leases.
    ///
    /// - Parameter pipelineDepth: 1 keeps requests from waiting behind a slow commit on the same connection.
    init(
        upstream: String = "http://127.0.0.1:9", environment: [Setting: String] = [:], cluster: PrivateCluster? = nil,
        database: String? = nil, variables others: [String: String] = [:], hasHandlerChecks: Bool = true,
        pipelineDepth: Int = 16, log: Log = Log(descriptor: nowhere)
    ) throws {
        let cluster = try cluster ?? PrivateCluster.shared()
        let conninfo = try database ?? cluster.makeDatabase()
        let variables = Stage.environment(upstream: upstream, database: conninfo, environment).merging(others) { $1 }
        self.cluster = cluster
        self.database = conninfo
        self.upstream = upstream
        self.environment = environment
        application = try waitFor {
            var configuration = try Configuration(environment: variables)
            configuration.extendFixedTimeouts()
            #if DEBUG
                configuration.access.hasHandlerChecks = hasHandlerChecks
            #endif
            configuration.store.pipelineDepth = pipelineDepth
            return try await Application.start(configuration, log: log)
        }
        port = application.port
        if database != nil { try prolongLeases(in: conninfo, of: cluster) }
    }

    /// Starts another program on the same database, with the same settings and the same model server unless the test gives others.
    ///
    /// The model servers of the program that starts last hold for all programs of a database.
    func startAnother(
        upstream: String? = nil, environment: [Setting: String]? = nil, hasHandlerChecks: Bool = true
    ) throws -> Stage {
        try Stage(
            upstream: upstream ?? self.upstream, environment: environment ?? self.environment, cluster: cluster,
            database: database, hasHandlerChecks: hasHandlerChecks)
    }

    /// The variables that the program is started with.
    ///
    /// No timeout passes on a busy machine, and no failed request is retried. A test sets the limits that it tests.
    static func environment(
        upstream: String, database: String, _ more: [Setting: String] = [:]
    ) -> [String: String] {
        let usual: [Setting: String] = [
            .listen: "127.0.0.1:0", .database: database, .ollama: upstream,
            .storeStartTimeout: "10m", .storeTimeout: "10m", .storeRetryTimeout: "10m",
            .upstreamConnectTimeout: "5m", .upstreamFirstByteTimeout: "1h", .upstreamSilenceTimeout: "1h",
            .upstreamTotalTimeout: "1h", .failoverAttempts: "0", .rescueAttempts: "0", .upstreamRestartWait: "0",
            .keepAlive: "1h",
            .headTimeout: "10m", .bodyTimeout: "10m", .disconnectGrace: "1h",
            .idleTimeout: "1h", .writeTimeout: "10m",
        ]
        var environment = Dictionary(uniqueKeysWithValues: usual.merging(more) { $1 }.map { ($0.key.name, $0.value) })
        // The address sanitizer keeps 256 MiB of freed memory by default: more than the budget of some programs.
        environment["ASAN_OPTIONS"] = "detect_leaks=0:quarantine_size_mb=4:thread_local_quarantine_size_kb=64"
        return environment
    }

    /// Ends the program.
    func stop() throws {
        try waitFor { [application] in await application.stop(within: .seconds(1)) }
    }

    /// Sends a prompt and reads the answer to its end.
    func chat(_ appID: String, _ prompt: String, model: String = "tiny", stream: Bool = true) throws -> HTTPExchange {
        try RawClient.post(port: port, "/llmchat", json: chatBody(appID, prompt, model: model, stream: stream))
    }

    /// Sends a prompt and reads the head of the answer.
    func beginChat(_ appID: String, _ prompt: String) throws -> RawClient {
        let client = try RawClient(port: port)
        client.post("/llmchat", json: chatBody(appID, prompt))
        let head = try client.readHead()
        guard head.status == 200 else {
            throw TestFailure("\(head.startLine): \(String(decoding: client.readBody(), as: UTF8.self))")
        }
        return client
    }

    /// The rows of a conversation in its order.
    func rows(_ appID: String) throws -> [StoredRow] {
        try StoredRow.all(appID, in: database, of: cluster)
    }

    /// Waits for the reply of the conversation's last turn to be stored.
    func storedReply(_ appID: String) throws -> StoredRow {
        try eventually("the reply of \(appID) is stored") {
            guard let row = try rows(appID).last, row.state != nil else { return nil }
            return row
        }
    }
}

extension Configuration {
    /// Extends the fixed timeouts for busy machines.
    fileprivate mutating func extendFixedTimeouts() {
        fixedTimeouts.modelListing = .seconds(600)
        fixedTimeouts.readiness = .seconds(600)
        fixedTimeouts.lastSpans = .seconds(600)
        relay.stopTimeout = .seconds(600)
        relay.longestRetryAfter = .seconds(1800)
    }
}

/// The output of the log of programs within the tests' process.
private let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)

/// The body of a request to /llmchat or /llmprep.
func chatBody(
    _ appID: String, _ prompt: String, model: String = "tiny", role: String = "user", stream: Bool = true
) -> String {
    let message = "{\"role\":\(jsonString(role)),\"content\":\(jsonString(prompt))}"
    let head = "\"appID\":\(jsonString(appID)),\"model\":\(jsonString(model))"
    return "{\(head),\"messages\":[\(message)],\"stream\":\(stream)}"
}

/// Runs a test's blocking body with a started program, and stops it afterwards.
func onStage(
    upstream: String = "http://127.0.0.1:9", environment: [Setting: String] = [:], cluster: PrivateCluster? = nil,
    pipelineDepth: Int = 16, log: Log = Log(descriptor: nowhere), _ body: @escaping @Sendable (Stage) throws -> Void
) async throws {
    try await onThread {
        let stage = try Stage(
            upstream: upstream, environment: environment, cluster: cluster, pipelineDepth: pipelineDepth, log: log)
        do {
            try body(stage)
        } catch {
            try stage.stop()
            throw error
        }
        try stage.stop()
        // A test's own cluster is removed with all its databases, and may be stopped.
        if cluster == nil { try stage.cluster.drop(stage.database) }
    }
}

/// Runs a test's blocking body on a separate thread; eight bodies at once at most, because the machine may have two cores.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    await Permits.shared.acquire()
    let began = ContinuousClock.now
    defer { TestTimes.note(began.duration(to: .now)) }
    do {
        try await blocking(body)
    } catch {
        await Permits.shared.release()
        throw error
    }
    await Permits.shared.release()
}

/// Permits for tests that run a whole program.
private actor Permits {
    static let shared = Permits(8)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        free = count
    }

    func acquire() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func release() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
