import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdPostgres
@testable import ChatterdPostgresStore

/// The files of `Migrations/`, and the rules for them.
struct MigrationListTests {
    private static let root = String(
        #filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])

    private func files() throws -> [(name: String, text: String)] {
        try FileManager.default.contentsOfDirectory(atPath: Self.root + "/Migrations").sorted().map { file in
            (String(file.dropLast(4)), try String(contentsOfFile: "\(Self.root)/Migrations/\(file)", encoding: .utf8))
        }
    }

    @Test func listHasAllFiles() throws {
        let files = try files()
        #expect(Migration.embedded.map(\.name) == files.map(\.name))
        for (migration, file) in zip(Migration.embedded, files) {
            #expect(file.text.hasSuffix(migration.sql), "\(file.name)")
        }
        #expect(Migration.newest == files.last?.name)
    }

    @Test func firstLineOfEachFileSaysItsKind() throws {
        for (file, migration) in zip(try files(), Migration.embedded) {
            let line = file.text.prefix { $0 != "\n" }
            #expect(line == "-- kind: \(migration.kind.rawValue)", "\(file.name)")
            // The previous release starts on all later ones, and nothing may stop the processes of a release again.
            #expect((migration.kind == .stop) == (file.name < "0028"), "\(file.name): mark it `expand` or `contract`")
        }
    }

    /// An index of a table that exists is built concurrently: others could not write to the table meanwhile.
    @Test func laterIndexesOfExistingTablesAreBuiltConcurrently() throws {
        for migration in Migration.embedded where migration.name > "0030" {
            let statements = SQLWords(migration.sql).statements.map(Array.init)
            let created = statements.filter { $0.starts(with: ["create", "table"]) }.map { $0[2] }
            for lock in migration.locks where lock.mode == "ShareLock" {
                #expect(created.contains(lock.name), "\(migration.name): CREATE INDEX CONCURRENTLY in a step")
            }
        }
    }

    /// What old processes have prepared, and what their statements return, stays as it is.
    @Test func laterExpansionsRemoveNothing() throws {
        for migration in Migration.embedded where migration.kind == .expand {
            for statement in SQLWords(migration.sql).statements {
                let isRemoval = ["drop", "rename", "truncate", "delete"].contains { statement.contains($0) }
                #expect(
                    !isRemoval || statement.first == "comment", "\(migration.name): \(statement.joined(separator: " "))"
                )
                #expect(!statement.starts(with: ["create", "or", "replace"]), "\(migration.name) changes a function")
            }
        }
    }

    @Test func leaseSaysWhatTheProgramKnows() async throws {
        try await StoreProcesses.run { processes in
            _ = try await processes.pool.run(processes.first.lease.renewal)
            #expect(try await processes.sql("SELECT schema FROM chatterd_processes") == [[Migration.newest]])
        }
    }
}
