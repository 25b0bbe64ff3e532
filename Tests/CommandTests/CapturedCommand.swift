import ChatterdBasics
import ChatterdConfiguration

@testable import ChatterdCommand

/// A command runner with captured output.
struct CapturedCommand: Sendable {
    let output = Lock("")
    let errors = Lock("")
    let keyRequests = Lock<[KeysRequest]>([])
    let served = Lock<[Configuration]>([])
    var databaseChecks: [Doctor.Check] = [
        .fine(.database, "17.2"), .wrong(.migrations, "out of date", advice: "migrate"),
    ]

    func run(_ arguments: String..., environment: [String: String] = [:]) async -> Int32 {
        let actions = CommandActions(
            serve: { configuration, _ in
                served.withLock { $0.append(configuration) }
                return 0
            },
            migrate: { _, _ in 1 },
            keys: { _, request in
                keyRequests.withLock { $0.append(request) }
                return 0
            },
            checkDatabase: { [databaseChecks] _ in databaseChecks })
        let runner = CommandRunner(
            environment: environment, actions: actions, output: { text in output.withLock { $0 += text + "\n" } },
            errors: { text in errors.withLock { $0 += text + "\n" } })
        return await CommandProbe.$limit.withValue(.seconds(600)) { await runner.run(arguments) }
    }

    var outputText: String { output.withLock { $0 } }
    var errorText: String { errors.withLock { $0 } }
}
