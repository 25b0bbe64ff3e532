import CChatterdSystem
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdHTTPClient
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgres
import ChatterdPostgresStore
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
        csystem_tune_allocator(Int32(clamping: configuration.server.shards + 2))
        _ = csystem_raise_descriptor_limit()
        // A log that nobody reads any more must not end the server.
        signal(SIGPIPE, SIG_IGN)
        let signals = Signals([SIGTERM, SIGINT, SIGHUP])
        do throws(ServeFailure) {
            var configuration = configuration
            let cluster = try startCluster(&configuration)
            defer { cluster?.stop() }
            if isDevelopment {
                offerEcho(&configuration)
            }
            // The private cluster is locked: nobody else can be using it.
            try await serve(configuration, signals, isAlone: cluster != nil)
            return 0
        } catch {
            log.flush()
            log.announce("chatterd: \(error.description)")
            return 1
        }
    }

    private func serve(
        _ configuration: Configuration, _ signals: Signals, isAlone: Bool
    ) async throws(ServeFailure) {
        // Beside the signals, as the database may be away for long: who is told to stop then stops at once.
        let starting = Task.detached { [log] in
            let outcome: Result<Application, StartError>
            do throws(StartError) {
                outcome = .success(try await Application.start(configuration, isAlone: isAlone, log: log))
            } catch {
                outcome = .failure(error)
            }
            signals.note(Self.hasStarted)
            return outcome
        }
        var application: Application?
        var stop: Task<Void, Never>?
        for await signal in signals.stream {
            if signal == Self.hasStarted {
                application = try await started(starting.value, configuration)
            } else if signal == SIGHUP {
                application?.reload()
            } else if let application, stop == nil {
                log.event(.info, "stopping", .subject(signal == SIGTERM ? "SIGTERM" : "SIGINT"))
                stop = Task.detached {
                    await application.drain(for: configuration.server.shutdownDelay)
                    await application.stop(within: configuration.server.shutdownLimit)
                    signals.finish()
                }
            } else {
                log.event(.warning, "stopping at once")
                application?.abort()
                break
            }
        }
        log.event(.info, "stopped")
        log.flush()
    }

    /// No signal has this number.
    private static let hasStarted: Int32 = 0

    private func started(
        _ outcome: Result<Application, StartError>, _ configuration: Configuration
    ) throws(ServeFailure) -> Application {
        let application: Application
        do throws(StartError) {
            application = try outcome.get()
        } catch {
            throw ServeFailure(description: error.description)
        }
        for address in application.addresses.prefix(1) {
            log.announce("listening on http://\(address)")
        }
        for address in application.addresses.dropFirst() {
            log.announce("listening on https://\(address)")
        }
        if isDevelopment, let address = application.addresses.first {
            log.announce(Self.invitation(address, model: Self.modelToTry(configuration.upstreams)))
        }
        log.event(.info, "started", .version(Version.current), .count(configuration.server.shards))
        return application
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
            throw ServeFailure(description: "\(error)")
        }
    }

    /// Adds the built-in model unless the configuration refuses it, and announces the model servers that do not answer.
    private func offerEcho(_ configuration: inout Configuration) {
        let upstreams = configuration.upstreams.list
        configuration.upstreams.offerEcho()
        let advice = configuration.upstreams.refusesEcho ? "" : ": the built-in model \"echo\" is there to try"
        for upstream in upstreams where upstream.kind != .echo {
            // One that is in the list has passed this.
            guard let url = try? UpstreamURL(parsing: upstream.url) else { continue }
            // Whether anybody listens is all that matters here: the doctor looks closer.
            if case .failure = CommandProbe.connect(to: url.address, within: .seconds(1)) {
                log.announce("no model server answers at \(url)\(advice)")
            }
        }
    }

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

/// Why serving failed, in words for whoever started it.
private struct ServeFailure: Error {
    let description: String
}
