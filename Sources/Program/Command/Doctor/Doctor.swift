import ChatterdBasics
import ChatterdConfiguration
import ChatterdServer

/// Checks everything that serving needs, and explains each failure. Shows no secrets.
public struct Doctor: Sendable {
    private let request: DoctorRequest
    private let environment: [String: String]
    private let checkDatabase: @Sendable (Configuration) async -> [Check]

    public init(
        _ request: DoctorRequest = DoctorRequest(), environment: [String: String],
        checkDatabase: @escaping @Sendable (Configuration) async -> [Check]
    ) {
        self.request = request
        self.environment = environment
        self.checkDatabase = checkDatabase
    }

    /// Runs the checks in turn and reports each of them as a line, or all of them as a document. Returns the worst severity.
    public func run(_ output: (String) -> Void) async -> Severity {
        var checks: [Check] = []
        var configuration: Configuration?
        func add(_ more: [Check]) {
            let more = more.map { $0.concealing(configuration?.secrets ?? []) }
            if !request.isJSON { more.forEach { output($0.description) } }
            checks += more
        }
        do throws(ConfigurationError) {
            let read = try Configuration(environment: environment, database: .optional)
            configuration = read
            await examine(read, add)
        } catch {
            add(error.problems.map { .wrong(.configuration, $0, advice: "see `chatterd help variables`") })
        }
        let worst = Severity.allCases.last { severity in checks.contains { $0.severity == severity } } ?? .ok
        if request.isJSON { output(document(checks, worst, configuration)) }
        return worst
    }

    private func examine(_ configuration: Configuration, _ add: ([Check]) -> Void) async {
        add([Self.settings(configuration), Self.descriptors(configuration)])
        add(Self.listeners(configuration.server))
        add(await database(configuration))
        for upstream in configuration.upstreams.list {
            add(await Self.upstream(upstream, keys: configuration.upstreams.keys, asksModels: request.asksModels))
        }
        add(await Self.issuers(configuration.access.issuers))
        add(await Self.toolServers(configuration.tools))
        add(await Self.collector(configuration.tracing))
        if let stream = request.through {
            add([await StreamCheck(stream).run()])
        }
    }

    /// What an operator of a server that runs should know of: the findings that do not keep it from running.
    static func findings(_ configuration: Configuration) async -> [Check] {
        var checks = [descriptors(configuration)]
        if let tls = configuration.server.tls {
            checks.append(certificate(tls))
        }
        checks += await DatabaseCheck(configuration).findings()
        return checks.filter { $0.severity != .ok }
    }

    private func database(_ configuration: Configuration) async -> [Check] {
        guard configuration.store.database == .notGiven else { return await checkDatabase(configuration) }
        return [
            .wrong(
                .database, "no database is named",
                advice: "set DATABASE_URL or PGHOST, or use `chatterd serve --dev`, which brings its own")
        ]
    }

    private static func settings(_ configuration: Configuration) -> Check {
        let given = configuration.given.map { "\($0.name)=\(SettingText.excerpt($0.shown))" }
        return .fine(
            .configuration,
            given.isEmpty
                ? "nothing is set, defaults hold" : "\(given.joined(separator: " ")); defaults hold for the rest")
    }

    /// The report for programs.
    private func document(_ checks: [Check], _ worst: Severity, _ configuration: Configuration?) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                json.member("version", Version.current)
                json.member("severity", worst.rawValue)
                json.array("checks") { json in
                    for check in checks {
                        check.write(to: &json)
                    }
                }
                json.array("settings") { json in
                    for setting in configuration == nil ? [] : Setting.allCases {
                        Self.write(setting, given: configuration?.given ?? [], to: &json)
                    }
                }
            }
        }
        return String(decoding: buffer.array, as: UTF8.self)
    }

    /// Writes where a setting comes from, and its value as it may be shown.
    private static func write(_ setting: Setting, given: [(name: String, shown: String)], to json: inout JSONWriter) {
        json.object { json in
            json.member("name", setting.name)
            if let variable = given.first(where: { $0.name == setting.name }) {
                json.member("source", "environment")
                json.member("value", variable.shown)
            } else if let file = given.first(where: { $0.name == setting.fileName }) {
                json.member("source", "file")
                json.member("file", file.shown)
            } else {
                json.member("source", "default")
                json.member("value", setting.entry.standardText)
            }
        }
    }
}
