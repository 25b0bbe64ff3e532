import ChatterClient

/// The list of model servers and their models, as text.
struct ModelServersTable {
    private let client: ChatterClient
    private let console: Console

    init(_ client: ChatterClient, _ console: Console) {
        self.client = client
        self.console = console
    }

    func show() async throws(ChatterError) {
        let list = try await client.models()
        var servers = Table()
        servers.add("SERVER", "KIND", "STATE", "MODELS")
        for server in list.upstreams {
            let models = list.models.filter { $0.upstreams.contains(server.name) }.map(\.name)
            servers.add(
                server.name, server.kind ?? "?", Self.state(of: server),
                server.problem ?? models.joined(separator: " "))
        }
        for line in servers.lines {
            console.write(foreign: line + "\n")
        }
    }

    private static func state(of server: ModelList.Server) -> String {
        switch server.reachable {
        case false: "unreachable"
        case true: server.health == "cooling_down" ? "failing" : "ok"
        default: "not asked yet"
        }
    }
}
