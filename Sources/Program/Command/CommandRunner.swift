import CChatterdSystem
import ChatterdBasics
import ChatterdConfiguration
import ChatterdServer
import ChatterdSockets
import Glibc

/// Runs a command: the whole program except its entry point.
public struct CommandRunner: Sendable {
    private let environment: [String: String]
    private let actions: CommandActions
    private let output: @Sendable (String) -> Void
    private let errors: @Sendable (String) -> Void

    /// The exit codes.
    private enum Exit {
        static let success: Int32 = 0
        static let failure: Int32 = 1
        static let usage: Int32 = 2
    }

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - environment: the variables.
    ///   - actions: the commands that need the rest of the server.
    ///   - output: writes a text and a line end to standard output.
    ///   - errors: writes a text and a line end to standard error.
    public init(
        environment: [String: String] = CommandRunner.processEnvironment, actions: CommandActions,
        output: @escaping @Sendable (String) -> Void = { CommandRunner.write($0, to: 1) },
        errors: @escaping @Sendable (String) -> Void = { CommandRunner.write($0, to: 2) }
    ) {
        self.environment = environment
        self.actions = actions
        self.output = output
        self.errors = errors
    }

    /// Runs the command of the arguments that follow the program's name; returns the exit code.
    ///
    /// It does not run on the main actor: the tasks of an action must not wait for the main thread.
    @concurrent
    public func run(_ arguments: [String]) async -> Int32 {
        do {
            return try await run(Command(arguments: arguments))
        } catch let error as UsageError {
            errors("chatterd: \(error)\n\n\(CommandHelp.usage)")
            return Exit.usage
        } catch {
            errors("chatterd: \(error)")
            return Exit.failure
        }
    }

    private func run(_ command: Command) async throws -> Int32 {
        switch command {
        case .serve(let isDevelopment):
            return await actions.serve(
                try configuration(database: isDevelopment ? .privateClusterIfAbsent : .required), isDevelopment)
        case .migrate(let request):
            return await actions.migrate(try configuration(database: .required), request)
        case .doctor(let request):
            return await Doctor(request, environment: environment, checkDatabase: actions.checkDatabase)
                .run(output).exitCode
        case .keys(let request):
            return await actions.keys(try configuration(database: .privateClusterIfAbsent), request)
        case .tools(let request):
            return try await request.run(configuration(database: .optional).tools, output: output)
        case .health(let isReadiness):
            return health(try configuration(database: .optional), isReadiness: isReadiness)
        case .version:
            output("chatterd \(Version.current)")
        case .help(let topic):
            output(CommandHelp.text(topic))
        }
        return Exit.success
    }

    private func configuration(database: Configuration.DatabaseNeed) throws(ConfigurationError) -> Configuration {
        try Configuration(environment: environment, database: database)
    }

    private func health(_ configuration: Configuration, isReadiness: Bool) -> Int32 {
        let listen = configuration.server.listen
        guard listen.port != 0 else {
            errors("chatterd: CHATTERD_LISTEN has port 0: where the server listens cannot be known")
            return Exit.failure
        }
        let path = (isReadiness ? Route.readyz : Route.healthz).rawValue
        switch CommandProbe.get(path, from: CommandProbe.reachable(listen)) {
        case .success(let answer) where answer.status == 200:
            output(isReadiness ? "ready" : "alive")
            return Exit.success
        case .success(let answer):
            let reason = JSONStrings.member("error", of: answer.body).map { ": \(Self.printable($0))" } ?? ""
            errors("chatterd: the server at \(listen) answers with status \(answer.status)\(reason)")
        case .failure(let failure):
            errors("chatterd: no server answers at \(listen): \(failure.message)")
        }
        return Exit.failure
    }

    /// A text of a server without what a terminal would take for a command.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { ![.control, .format].contains($0.properties.generalCategory) }))
    }
}

extension CommandRunner {
    public static var processEnvironment: [String: String] {
        var environment: [String: String] = [:]
        var next = csystem_environment()
        while let entry = next?.pointee {
            let text = String(cString: entry)
            if let equals = text.firstIndex(of: "=") {
                environment[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            next = next?.successor()
        }
        return environment
    }

    /// Writes a text and a line end to a descriptor.
    public static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array((text + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // There is no other output to report the failure to.
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
