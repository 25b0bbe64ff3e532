import ChatterdTestSupport
import Foundation
import Glibc
import Testing

@testable import ChatterdDevelopmentCluster

@Suite(.serialized, .timeLimit(.minutes(30))) struct DevelopmentClusterTests {
    @Test func clusterKeepsItsRowsBetweenRuns() async throws {
        try await blocking {
            let folder = try TestFolder()
            let first = try folder.start()
            #expect(
                try folder.ask(first, "CREATE TABLE kept AS SELECT 'a row' AS row; SELECT row FROM kept") == "a row")
            first.stop()
            #expect(folder.postmaster == nil)

            let second = try folder.start()
            defer { second.stop() }
            #expect(try folder.ask(second, "SELECT row FROM kept") == "a row")
            #expect(try folder.ask(second, "SHOW listen_addresses") == "")
        }
    }

    @Test func twoServersDoNotShareADirectory() async throws {
        try await blocking {
            let folder = try TestFolder()
            let first = try folder.start()
            defer { first.stop() }
            let error = #expect(throws: DevelopmentClusterError.self) { try folder.start() }
            #expect(error == .busy(directory: folder.path + "/.chatterd", process: getpid()))
            #expect(error?.description.contains("process \(getpid())") == true)
            #expect(try folder.ask(first, "SELECT 1") == "1")
        }
    }

    @Test func clusterOfAKilledServerIsUsedWhileItRuns() async throws {
        try await blocking {
            let folder = try TestFolder()
            var killed: DevelopmentCluster? = try folder.start()
            let postmaster = try #require(folder.postmaster)
            #expect(killed != nil)
            killed = nil

            var messages: [String] = []
            let next = try folder.start { messages.append($0) }
            defer { next.stop() }
            #expect(messages.contains { $0.contains("still runs (process \(postmaster))") })
            #expect(folder.postmaster == postmaster)
            #expect(try folder.ask(next, "SELECT 1") == "1")
        }
    }

    @Test func killedClusterStartsAgain() async throws {
        try await blocking {
            let folder = try TestFolder()
            let first = try folder.start()
            _ = try folder.ask(first, "CREATE TABLE kept AS SELECT 1 AS row")
            kill(try #require(folder.postmaster), SIGKILL)
            first.stop()

            let second = try folder.start()
            defer { second.stop() }
            #expect(try folder.ask(second, "SELECT row FROM kept") == "1")
        }
    }

    @Test func processNumberOfAnotherProgramIsNotPostgreSQL() async throws {
        try await blocking {
            let folder = try TestFolder()
            try folder.start().stop()
            // PostgreSQL accepts a number only if it is a process of the same user.
            let user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            let other = try ForeignProgram(
                (geteuid() == 0 ? user : []) + ["sh", "-c", "echo process $$; exec sleep 600"])
            let process = try other.waitFor("process ")
            for file in ["postmaster.pid", ".s.PGSQL.5432.lock"] {
                try "\(process)\n\(folder.data)\n1\n5432\n.\n\n".write(
                    toFile: folder.data + "/" + file, atomically: false, encoding: .utf8)
            }
            let second = try folder.start()
            defer { second.stop() }
            #expect(try folder.ask(second, "SELECT 1") == "1")
            withExtendedLifetime(other) {}
        }
    }

    @Test func unfinishedClusterIsReplaced() async throws {
        try await blocking {
            let folder = try TestFolder()
            let left = folder.path + "/.chatterd/postgres.partial.1"
            try FileManager.default.createDirectory(atPath: left + "/base", withIntermediateDirectories: true)
            let cluster = try folder.start()
            defer { cluster.stop() }
            #expect(!FileManager.default.fileExists(atPath: left))
            #expect(try folder.ask(cluster, "SELECT 1") == "1")
        }
    }

    @Test(arguments: [String(repeating: "long ", count: 20), "it's, \"quoted\" $HOME\\"])
    func oddPathIsReached(name: String) async throws {
        try await blocking {
            let folder = try TestFolder(name)
            let cluster = try folder.start()
            #expect(try folder.ask(cluster, "SELECT 1") == "1")
            let host = try #require(cluster.connectionString.firstMatch(of: #/host='(/tmp/chatterd-[^/]*)?/#)).output.1
            cluster.stop()
            if let host { #expect(!FileManager.default.fileExists(atPath: String(host))) }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root starts PostgreSQL as another user"))
    func databaseIsElsewhereIfPostgreSQLCannotEnterTheDirectory() async throws {
        try await blocking {
            let folder = try TestFolder()
            chmod(folder.path, 0o700)
            var messages: [String] = []
            let first = try folder.start { messages.append($0) }
            let elsewhere = try #require(
                messages.joined().firstMatch(of: #/kept in (/var/lib/chatterd-dev/[0-9a-f]+)/#)
            )
            .output
            .1
            defer { try? FileManager.default.removeItem(atPath: String(elsewhere)) }
            _ = try folder.ask(first, "CREATE TABLE kept AS SELECT 1 AS row")
            first.stop()
            let second = try folder.start()
            defer { second.stop() }
            #expect(try folder.ask(second, "SELECT row FROM kept") == "1")
        }
    }

    @Test func programsOfAnotherVersionAreNotUsed() {
        #expect(throws: DevelopmentClusterError.notInstalled(version: "9.1")) {
            try PostgresPrograms.find(version: "9.1")
        }
        #expect(throws: DevelopmentClusterError.notInstalled(version: nil)) {
            try PostgresPrograms.find(version: nil, in: ["/nowhere"])
        }
    }
}

/// A directory of one test.
private final class TestFolder {
    let path: String
    private let top: String

    init(_ name: String = "folder") throws {
        var template = Array("/tmp/cluster-XXXXXX".utf8CString)
        let made = mkdtemp(&template) != nil
        try #require(made)
        top = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        chmod(top, 0o755)
        path = top + "/" + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: top) }

    var data: String { path + "/.chatterd/postgres" }

    var postmaster: Int32? {
        (try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8))?
            .split(separator: "\n").first.flatMap { Int32($0) }
    }

    func start(log: (String) -> Void = { _ in }) throws -> DevelopmentCluster {
        try DevelopmentCluster.start(in: path, startTimeout: 600, log: log)
    }

    func ask(_ cluster: DevelopmentCluster, _ statement: String) throws -> String {
        let psql = try PostgresPrograms.find(version: nil).path("psql")
        let result = Subprocess([psql, cluster.connectionString, "-XqAt", "-c", statement]).run()
        try #require(result.succeeded, "\(result.output)")
        return result.output.split(separator: "\n").joined(separator: "\n")
    }
}
