import CChatterdSystem
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdSockets
import Glibc

/// Checks everything that serving needs, and explains in words what is wrong; shows no secrets.
public struct Doctor: Sendable {
    /// What came of looking at one thing.
    public struct Check: Sendable, Equatable, CustomStringConvertible {
        /// What was looked at.
        public let subject: String
        /// Whether it is as it should be.
        public let isFine: Bool
        /// What was found.
        public let finding: String
        /// What to do about it.
        public let advice: String

        /// A thing that is as it should be.
        public static func fine(_ subject: String, _ finding: String) -> Check {
            Check(subject: subject, isFine: true, finding: finding, advice: "")
        }

        /// A thing that is not.
        public static func wrong(_ subject: String, _ finding: String, advice: String) -> Check {
            Check(subject: subject, isFine: false, finding: finding, advice: advice)
        }

        /// One line.
        public var description: String {
            isFine ? "ok    \(subject): \(finding)" : "FAIL  \(subject): \(finding); \(advice)"
        }
    }

    private let environment: [String: String]
    private let checkDatabase: @Sendable (Configuration) async -> [Check]

    /// Makes a doctor for an environment.
    public init(
        environment: [String: String], checkDatabase: @escaping @Sendable (Configuration) async -> [Check]
    ) {
        self.environment = environment
        self.checkDatabase = checkDatabase
    }

    /// Checks one thing after the other, and tells each; returns whether all are fine.
    public func examine(_ tell: (Check) -> Void) async -> Bool {
        var isHealthy = true
        func note(_ checks: [Check]) {
            for check in checks {
                tell(check)
                if !check.isFine { isHealthy = false }
            }
        }
        let configuration: Configuration
        do {
            configuration = try Configuration(environment: environment, database: .optional)
        } catch {
            note(error.problems.map { .wrong("configuration", $0, advice: "see `chatterd help variables`") })
            return false
        }
        note([Self.settings(configuration), Self.descriptors(configuration)])
        note(Self.listeners(configuration.server))
        if configuration.store.database == .notGiven {
            note([
                .wrong(
                    "PostgreSQL", "no database is named",
                    advice: "set DATABASE_URL or PGHOST, or use `chatterd serve --dev`, which brings its own")
            ])
        } else {
            note(await checkDatabase(configuration))
        }
        let upstreams = configuration.upstreams
        for upstream in upstreams.list {
            note(await Self.upstream(upstream, keys: upstreams.keys))
        }
        return isHealthy
    }

    private static func settings(_ configuration: Configuration) -> Check {
        let given = configuration.given.map { "\($0.name)=\(SettingText.excerpt($0.shown))" }
        return .fine(
            "configuration", given.isEmpty ? "nothing is set, defaults hold" : given.joined(separator: " "))
    }

    private static func descriptors(_ configuration: Configuration) -> Check {
        let limit = csystem_descriptor_limit()
        // A client and its model server take one each; idle ones, the database and the process itself come on top.
        let store = configuration.store.connections * configuration.server.shards
        let needed =
            configuration.http.connections
            + min(configuration.relay.maximumReplies, configuration.http.connections) + store + 100
        // With fewer the server lives, and lets connections wait; with far fewer it serves far less than it is set to.
        guard limit >= 0, limit < Int64(needed) / 2 else {
            return .fine("open files", "\(limit) are allowed, \(needed) are the most that the limits let be used")
        }
        return .wrong(
            "open files", "only \(limit) are allowed, \(needed) may be needed",
            advice: "raise the hard limit (ulimit -Hn, LimitNOFILE=) or lower CHATTERD_MAX_CONNECTIONS")
    }

    private static func listeners(_ server: Configuration.Server) -> [Check] {
        var checks = [listener(server.listen, Setting.listen)]
        guard let tls = server.tls else { return checks }
        checks.append(listener(tls.listen, Setting.tlsListen))
        for (path, setting) in [(tls.certificate, Setting.tlsCertificate), (tls.key, Setting.tlsKey)] {
            switch ConfigurationFile.read(path) {
            case .success(let text) where text.contains("-----BEGIN "):
                checks.append(.fine(setting.name, "\(path) is a PEM file"))
            case .success:
                checks.append(
                    .wrong(setting.name, "\(path) is no PEM file", advice: "make a pair with script/certificate"))
            case .failure(let failure):
                checks.append(
                    .wrong(
                        setting.name, "\(path) cannot be read: \(failure.reason)",
                        advice: "let the server's user read it, or make a pair with script/certificate"))
            }
        }
        return checks
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
                advice: "stop what listens there, or choose another address")
        }
    }
}
