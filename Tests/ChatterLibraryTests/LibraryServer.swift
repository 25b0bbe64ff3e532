import ChatterClient
import ChatterdTestSupport

/// A server with a database of its own, as a separate process.
struct LibraryServer: Sendable {
    private let environment: [String: String]
    let program: TestProgram
    let port: Int

    private init(environment: [String: String]) throws {
        self.environment = environment
        program = try TestProgram("chatterd", ["serve"], environment: environment)
        port = try program.waitForPort()
    }

    init(_ more: [String: String] = [:]) throws {
        let usual = [
            "DATABASE_URL": try PrivateCluster.shared().makeDatabase(), "CHATTERD_ECHO": "1",
            "CHATTERD_LISTEN": "127.0.0.1:0", "CHATTERD_SHARDS": "2",
        ]
        try self.init(environment: usual.merging(more) { $1 })
    }

    /// Kills the process, and starts another one with the same database at the same port.
    func killedAndReplaced() throws -> LibraryServer {
        program.signal(9)
        _ = try program.waitForExit()
        return try LibraryServer(environment: environment.merging(["CHATTERD_LISTEN": "127.0.0.1:\(port)"]) { $1 })
    }

    func client() throws -> ChatterClient {
        try ChatterClient(url: "http://127.0.0.1:\(port)", credential: .app("library"))
    }
}
