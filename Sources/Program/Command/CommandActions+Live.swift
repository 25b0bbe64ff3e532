import ChatterdConfiguration
import ChatterdPostgres
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import Glibc

extension CommandActions {
    /// The actions of the program.
    public static var live: CommandActions {
        CommandActions(
            serve: { configuration, isDevelopment in
                await ServeCommand(configuration, isDevelopment: isDevelopment).run()
            },
            migrate: { configuration in
                do {
                    let target = try ConnectionTarget(configuration.store.database)
                    let outcome = try await Migrator(target).run(timeout: configuration.store.startTimeout)
                    CommandRunner.write(outcome.description, to: 1)
                    return 0
                } catch {
                    CommandRunner.write("chatterd: \(error)", to: 2)
                    return 1
                }
            },
            keys: { configuration, request in
                do {
                    try await KeysCommand(configuration, request) { CommandRunner.write($0, to: 1) }.run()
                    return 0
                } catch {
                    CommandRunner.write("chatterd: \((error as? RelayError)?.message ?? "\(error)")", to: 2)
                    return 1
                }
            },
            checkDatabase: { configuration in await DatabaseCheck(configuration).run() })
    }
}
