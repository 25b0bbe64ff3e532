import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdServer
import ChatterdTestSupport
import Glibc
import Testing

@testable import ChatterdServerTestSupport

/// A start that fails names the failed step and the reason, and stops all parts.
@Suite(.timeLimit(.minutes(30))) struct StartTests {
    @Test(
        arguments: [
            (
                [.tlsListen: "127.0.0.1:0", .tlsCertificate: "/nowhere/server.pem", .tlsKey: "/nowhere/server.key"],
                "The certificate of HTTPS cannot be used: ", "/nowhere/server.pem"
            ),
            (
                [.collector: "https://127.0.0.1:1", .collectorAuthorities: "/nowhere/authorities.pem"],
                "The authorities of the collector of traces cannot be used: ", "/nowhere/authorities.pem"
            ),
        ] as [([Setting: String], String, String)])
    func unreadableCertificateIsNamedBeforeTheDatabaseIsUsed(
        settings: [Setting: String], words: String, file: String
    ) async throws {
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeEmptyDatabase()
            let error = try failedStart(database: database, settings)
            #expect(error.hasPrefix(words))
            #expect(error.contains(file))
            let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            #expect(try cluster.query(tables, database: database) == [["0"]])
        }
    }

    @Test func refusedDatabaseIsNamed() async throws {
        try await onThread {
            let port = try BoundPort.refusing()
            let error = try failedStart(
                database: "postgresql://nobody@127.0.0.1:\(port.port)/none", [.storeStartTimeout: "10ms"])
            #expect(error.hasPrefix("The database cannot be used: "))
        }
    }

    @Test func portInUseIsNamedAndTheStoreIsClosed() async throws {
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeEmptyDatabase()
            let port = try BoundPort.silent()
            let error = try failedStart(database: database, [.listen: "127.0.0.1:\(port.port)"])
            #expect(error == "The server cannot listen: listen on 127.0.0.1:\(port.port): Address already in use")
            try expectClosedStore(database, of: cluster)
        }
    }

    @Test func httpListenerIsClosedWhenThePortOfHTTPSIsInUse() async throws {
        let certificates = try Certificates()
        try await onThread {
            let cluster = try PrivateCluster.shared()
            let database = try cluster.makeEmptyDatabase()
            let plain = try BoundPort.refusing()
            let secure = try BoundPort.silent()
            let error = try failedStart(
                database: database,
                [
                    .listen: "127.0.0.1:\(plain.port)", .tlsListen: "127.0.0.1:\(secure.port)",
                    .tlsCertificate: certificates.certificate("server"), .tlsKey: certificates.key("server"),
                ])
            #expect(error == "The server cannot listen: listen on 127.0.0.1:\(secure.port): Address already in use")
            #expect(throws: TestFailure.self) { try RawClient(port: plain.port) }
            try expectClosedStore(database, of: cluster)
        }
    }

    /// Starts the program, and returns the error. Blocks.
    private func failedStart(database: String, _ settings: [Setting: String]) throws -> String {
        let environment = Stage.environment(upstream: "http://127.0.0.1:9", database: database, settings)
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        let log = Log(descriptor: null)
        let error = try waitFor {
            let configuration = try Configuration(environment: environment)
            do throws(StartError) {
                _ = try await Application.start(configuration, log: log)
                return String?.none
            } catch {
                return error.description
            }
        }
        return try #require(error)
    }

    /// The process has ended its lease, and closed its connections.
    private func expectClosedStore(_ database: String, of cluster: PrivateCluster) throws {
        #expect(try cluster.query("SELECT count(*) FROM chatterd_processes", database: database) == [["0"]])
        try eventually(
            "the connections are closed",
            isTrue: {
                let others = """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
                    """
                return try cluster.query(others, database: database) == [["0"]]
            })
    }
}
