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
            migrate: { configuration, request in
                do {
                    let migrator = Migrator(try ConnectionTarget(configuration.store.database)) {
                        CommandRunner.write($0, to: 1)
                    }
                    let (contracts, timeout) = (request.contracts, configuration.store.startTimeout)
                    if request.isDryRun {
                        let lines = try await migrator.plan(contracts: contracts, timeout: timeout)
                        CommandRunner.write(lines.joined(separator: "\n"), to: 1)
                    } else {
                        let outcome = try await migrator.run(contracts: contracts, timeout: timeout)
                        // What it has done is written already, line by line.
                        if outcome.applied.isEmpty && outcome.changes.isEmpty {
                            CommandRunner.write(MigrationOutcome.nothing, to: 1)
                        }
                    }
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
