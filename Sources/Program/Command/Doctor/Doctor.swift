import CChatterdSystem
import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets
import Glibc

/// Checks everything that serving needs, and explains each failure. Shows no secrets.
public struct Doctor: Sendable {
    private let environment: [String: String]
    private let checkDatabase: @Sendable (Configuration) async -> [Check]

    public init(
        environment: [String: String], checkDatabase: @escaping @Sendable (Configuration) async -> [Check]
    ) {
        self.environment = environment
        self.checkDatabase = checkDatabase
    }

    /// Runs the checks in turn and reports each of them. Returns whether all have passed.
    public func examine(_ report: (Check) -> Void) async -> Bool {
        var isHealthy = true
        func add(_ checks: [Check]) {
            checks.forEach(report)
            isHealthy = isHealthy && checks.allSatisfy(\.isFine)
        }
        let configuration: Configuration
        do {
            configuration = try Configuration(environment: environment, database: .optional)
        } catch {
            add(error.problems.map { .wrong("configuration", $0, advice: "see `chatterd help variables`") })
            return false
        }
        add([Self.settings(configuration), Self.descriptors(configuration)])
        add(Self.listeners(configuration.server))
        add(await database(configuration))
        for upstream in configuration.upstreams.list {
            add(await Self.upstream(upstream, keys: configuration.upstreams.keys))
        }
        return isHealthy
    }

    private func database(_ configuration: Configuration) async -> [Check] {
        guard configuration.store.database == .notGiven else { return await checkDatabase(configuration) }
        return [
            .wrong(
                "PostgreSQL", "no database is named",
                advice: "set DATABASE_URL or PGHOST, or use `chatterd serve --dev`, which brings its own")
        ]
    }

    private static func settings(_ configuration: Configuration) -> Check {
        let given = configuration.given.map { "\($0.name)=\(SettingText.excerpt($0.shown))" }
        return .fine(
            "configuration", given.isEmpty ? "nothing is set, defaults hold" : given.joined(separator: " "))
    }

    private static func descriptors(_ configuration: Configuration) -> Check {
        let limit = csystem_descriptor_limit()
        // A client and its model server need one each. Idle connections, the database and the process itself need more.
        let store = configuration.store.connections * configuration.server.shards + 2
        let needed =
            configuration.http.connections
            + min(configuration.relay.maximumReplies, configuration.http.connections) + store + 100
        // With somewhat fewer the server lets connections wait; with less than half it serves far less than it is configured for.
        guard limit >= 0, limit < Int64(needed) / 2 else {
            return .fine("open files", "\(limit) are allowed, \(needed) are the most that the limits let be used")
        }
        return .wrong(
            "open files", "only \(limit) are allowed, \(needed) may be needed",
            advice: "raise the hard limit (ulimit -Hn, LimitNOFILE=) or lower CHATTERD_MAX_CONNECTIONS")
    }

    private static func listeners(_ server: Configuration.Server) -> [Check] {
        var checks = [listener(server.listen, Setting.listen)]
        if let metrics = server.metricsListen {
            checks.append(listener(metrics, Setting.metricsListen))
        }
        guard let tls = server.tls else { return checks }
        checks.append(listener(tls.listen, Setting.tlsListen))
        var isReadable = true
        for (path, setting) in [(tls.certificate, Setting.tlsCertificate), (tls.key, Setting.tlsKey)] {
            switch ConfigurationFile.read(path) {
            case .success(let text) where text.contains("-----BEGIN "):
                checks.append(.fine(setting.name, "\(path) is a PEM file"))
            case .success:
                isReadable = false
                checks.append(
                    .wrong(setting.name, "\(path) is not a PEM file", advice: "make a pair with script/certificate"))
            case .failure(let failure):
                isReadable = false
                checks.append(
                    .wrong(
                        setting.name, "\(path) cannot be read: \(failure.reason)",
                        advice: "let the server's user read it, or make a pair with script/certificate"))
            }
        }
        return isReadable ? checks + [certificate(tls)] : checks
    }

    /// The number of days before the end of a certificate from which on it needs to be replaced.
    private static let daysBeforeEnd: Int64 = 7

    /// Whether the certificate and the key belong together and are valid now, as clients check it.
    private static func certificate(_ tls: Configuration.TLS) -> Check {
        let advice = "replace it, and send SIGHUP to a server that runs"
        do throws(SocketError) {
            let context = try TLSContext.server(certificate: tls.certificate, key: tls.key)
            guard let end = context.certificateEnd else { return .fine("certificate", "it belongs to the key") }
            let days = (end - Int64(time(nil))) / 86_400
            guard end > Int64(time(nil)) else {
                return .wrong("certificate", "it expired \(-days) days ago: no client accepts it", advice: advice)
            }
            guard days > daysBeforeEnd else {
                return .wrong("certificate", "it expires in \(days) days", advice: advice)
            }
            return .fine("certificate", "it belongs to the key, and expires in \(days) days")
        } catch {
            return .wrong("certificate", "\(error)", advice: "make a pair with script/certificate")
        }
    }

    private static func listener(_ listen: HostAndPort, _ setting: Setting) -> Check {
        switch CommandProbe.bind(listen) {
        case .success:
            return .fine(setting.name, "\(listen) is free")
        case .failure(let failure):
            if setting == .listen, listen.port != 0,
                case .success(let answer) = CommandProbe.get("/healthz", from: CommandProbe.reachable(listen)),
                answer.status == 200
            {
                return .fine(setting.name, "\(listen) is taken by a server that is alive, chatterd it seems")
            }
            return .wrong(
                setting.name, "\(listen) cannot be listened on: \(failure.message)",
                advice: "stop the process that listens there, or choose another address")
        }
    }
}
