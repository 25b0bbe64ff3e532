import ChatterdBasics

// What a run would do.
extension Migrator {
    /// Says what `run` would do, in lines for people, and changes nothing.
    public func plan(contracts: Bool = false, timeout: Duration) async throws(PostgresError) -> [String] {
        try await blocking { () throws(PostgresError) in
            let connection = try connect(until: ContinuousClock.now + timeout, timeout: timeout)
            try connection.execute("BEGIN READ ONLY")
            try limitWaits(connection)
            let lines = try watched(connection, logsWaits: false) { () throws(PostgresError) in
                try planLines(connection, contracts: contracts)
            }
            try connection.execute("ROLLBACK")
            return lines
        }
    }

    private func planLines(_ connection: BlockingConnection, contracts: Bool) throws(PostgresError) -> [String] {
        let tables = try tables(connection)
        var missing = migrations
        if tables.hasMigrations {
            let differences = try readDifferences(connection, tables)
            try Self.check(differences)
            missing = self.missing(differences)
        }
        let runsContractions = contracts || !tables.hasMigrations
        var lines: [String] = []
        for migration in missing {
            var course = "runs now"
            if migration.kind == .contract, !runsContractions {
                course = "runs with --contract only"
            } else if migration.kind != .expand, let older = try olderProcesses(than: migration, connection) {
                course = "waits until processes of an older program have ended: \(older)"
            }
            lines.append("\(migration.name) (\(migration.kind.rawValue)): \(course)")
            let locks = migration.locks
            for size in try connection.run(MigrationStatements.sizes(of: locks.map(\.name))) {
                let modes = locks.filter { $0.name == size.name }.map(\.mode)
                lines.append(
                    "    \(modes.joined(separator: ", ")) on \(size.table): \(size.size), about \(size.rows) rows")
            }
        }
        return lines.isEmpty ? [MigrationOutcome.nothing] : lines
    }
}
