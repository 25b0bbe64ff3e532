import CChatterdSystem
import ChatterdChat
import ChatterdConfiguration
import ChatterdCryptography
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdServer
import ChatterdSockets
import Glibc

/// `chatterd serve`: starts everything, waits for a signal, stops everything.
struct ServeCommand: Sendable {
    private let configuration: Configuration
    private let isDevelopment: Bool
    private let log: Log

    init(_ configuration: Configuration, isDevelopment: Bool) {
        self.configuration = configuration
        self.isDevelopment = isDevelopment
        log = Log(appID: configuration.log.appID, secrets: configuration.secrets)
    }

    /// Serves until a signal ends it; returns the exit code.
    func run() async -> Int32 {
        prepareProcess()
        let (events, continuation) = AsyncStream.makeStream(of: ServeEvent.self)
        let signals = Signals([SIGTERM, SIGINT, SIGHUP]) { continuation.yield(.signal($0)) }
        defer { withExtendedLifetime(signals) {} }
        do throws(ServeFailure) {
            var configuration = configuration
            let cluster = try startCluster(&configuration)
            defer { cluster?.stop() }
            if isDevelopment {
                offerEcho(&configuration)
                offerAdministration(&configuration)
            }
            // The private cluster is locked: no other process uses it.
            start(configuration, isAlone: cluster != nil, continuation)
            try await handle(events, of: configuration, continuation)
            log.event(.info, "stopped")
            log.flush()
            return 0
        } catch {
            log.flush()
            log.announce("chatterd: \(error.description)")
            return 1
        }
    }

    private func prepareProcess() {
        csystem_tune_allocator(Int32(clamping: configuration.server.shards + 2))
        _ = csystem_raise_descriptor_limit()
        // Without this, a log whose reader has gone would end the server.
        signal(SIGPIPE, SIG_IGN)
    }

    /// Starts the application in a task. The start may wait long for the database, and a signal must end it at once.
    private func start(
        _ configuration: Configuration, isAlone: Bool, _ events: AsyncStream<ServeEvent>.Continuation
    ) {
        Task.detached { [log] in
            do throws(StartError) {
                let application = try await Application.start(configuration, isAlone: isAlone, log: log)
                events.yield(.started(.success(application)))
            } catch {
                events.yield(.started(.failure(error)))
            }
        }
    }

    /// Handles events until the server has stopped, or a second signal ends it at once.
    private func handle(
        _ events: AsyncStream<ServeEvent>, of configuration: Configuration,
        _ continuation: AsyncStream<ServeEvent>.Continuation
    ) async throws(ServeFailure) {
        var application: Application?
        var isStopping = false
        for await event in events {
            switch event {
            case .started(.success(let started)):
                application = started
                announce(started, configuration)
            case .started(.failure(let error)):
                throw ServeFailure(description: error.description)
            case .signal(SIGHUP):
                application?.reload()
            case .signal(let number):
                guard let application, !isStopping else {
                    log.event(.warning, "stopping at once")
                    application?.abort()
                    return
                }
                isStopping = true
                log.event(.info, "stopping", .subject(number == SIGTERM ? "SIGTERM" : "SIGINT"))
                stop(application, configuration.server, continuation)
            case .stopped:
                return
            }
        }
    }

    /// Stops the application in a task, so that a second signal can end it at once.
    private func stop(
        _ application: Application, _ settings: Configuration.Server,
        _ events: AsyncStream<ServeEvent>.Continuation
    ) {
        Task.detached {
            await application.drain(for: settings.shutdownDelay)
            await application.stop(within: settings.shutdownLimit)
            events.yield(.stopped)
        }
    }

    private func announce(_ application: Application, _ configuration: Configuration) {
        for (index, address) in application.addresses.enumerated() {
            log.announce("listening on \(index == 0 ? "http" : "https")://\(address)")
        }
        if let address = application.metricsAddress {
            log.announce("metrics at http://\(address)/metrics")
        }
        if let collector = configuration.tracing.endpoint {
            log.announce("traces to \(collector.url)")
        }
        if isDevelopment, let address = application.addresses.first {
            log.announce(Self.invitation(address, model: Self.modelToTry(configuration.upstreams)))
            if self.configuration.upstreams.adminToken == nil, let token = configuration.upstreams.adminToken {
                log.announce(
                    """
                    model servers are managed at http://\(address)/\(AdministrationLink(token.value)) until the next start \
                    (CHATTERD_ADMIN_TOKEN sets a token that stays)
                    """)
            }
        }
        log.event(.info, "started", .version(Version.current), .count(configuration.server.shards))
        report(configuration)
    }

    /// Logs what `chatterd doctor` would find fault with, though the server runs.
    private func report(_ configuration: Configuration) {
        Task.detached { [log] in
            for check in await Doctor.findings(configuration) {
                log.event(
                    .warning, "doctor", .subject(Log.Word(check.id)), .detail("\(check.finding); \(check.advice)"))
            }
        }
    }

    private func startCluster(_ configuration: inout Configuration) throws(ServeFailure) -> DevelopmentCluster? {
        guard configuration.store.database == .privateCluster else { return nil }
        guard let directory = getcwd(nil, 0) else {
            throw ServeFailure(description: "The current directory is gone.")
        }
        defer { free(directory) }
        do throws(DevelopmentClusterError) {
            let cluster = try DevelopmentCluster.start(in: String(cString: directory)) { log.announce($0) }
            configuration.store.database = .conninfo(ConfigurationSecret(cluster.connectionString))
            return cluster
        } catch {
            throw ServeFailure(description: error.description)
        }
    }

    /// Adds the built-in model unless the configuration refuses it, and announces the model servers that do not answer.
    private func offerEcho(_ configuration: inout Configuration) {
        let upstreams = configuration.upstreams.list
        configuration.upstreams.offerEcho()
        let advice = configuration.upstreams.refusesEcho ? "" : "; try the built-in model \"echo\" meanwhile"
        for upstream in upstreams where upstream.kind != .echo {
            // The configuration has accepted this URL.
            guard let url = try? UpstreamURL(parsing: upstream.url) else { continue }
            // Only the connection matters here; `chatterd doctor` checks more.
            if case .failure = CommandProbe.connect(to: url.address, within: .seconds(1)) {
                log.announce("no model server answers at \(url)\(advice)")
            }
        }
    }

    /// Makes an administrator's token unless one is set. The page needs it to add model servers.
    private func offerAdministration(_ configuration: inout Configuration) {
        guard configuration.upstreams.adminToken == nil else { return }
        let digits = Array("0123456789abcdefghjkmnpqrstvwxyz")
        let token = String(SecureRandom.bytes(Self.tokenLength).map { digits[Int($0 & 31)] })
        configuration.upstreams.adminToken = ConfigurationSecret(token)
    }

    /// The number of characters of a token, of five random bits each.
    private static let tokenLength = 26

    /// A model that exists, or probably exists.
    private static func modelToTry(_ upstreams: Configuration.Upstreams) -> String {
        upstreams.list.first?.models.first ?? (upstreams.refusesEcho ? "llama3.2" : "echo")
    }

    private static func invitation(_ address: SocketAddress, model: String) -> String {
        """
        try it in another terminal:
          curl -N http://\(address)/llmchat -d '{"appID":"me","model":"\(model)","messages":[{"role":"user","content":"Hello!"}]}'
          curl -N http://\(address)/llmchat -d '{"appID":"me","model":"\(model)","messages":[{"role":"user","content":"What did I say?"}]}'
        """
    }
}

/// Why serving failed, in words for the operator.
struct ServeFailure: Error {
    let description: String
}

/// An event that `chatterd serve` waits for.
enum ServeEvent: Sendable {
    /// The start has ended.
    case started(Result<Application, StartError>)
    /// The process received the signal of this number.
    case signal(Int32)
    /// The server has stopped.
    case stopped
}
