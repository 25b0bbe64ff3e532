import ChatterdBasics
import ChatterdRelay
import ChatterdSockets

/// A server of tools that speaks the Model Context Protocol. Confined to its shard.
///
/// It learns once for each connection which revision the server speaks: the stateless one if the server answers `server/discover`, or
/// else the one with a handshake.
final class MCPServer {
    /// The limit of tools of a server. Further ones are left out.
    static let maximumTools = 128
    /// The limit of the pages of a list of tools.
    private static let maximumPages = 16
    /// The limit of each request beside calls.
    private let requestLimit: Duration

    let description: MCPDescription
    private let shard: Shard
    private let channel: any MCPChannel
    /// The revision of the connection, and its number; `nil` before the first one.
    private var connection: (revision: MCPRevision, generation: Int)?
    /// The beginning of a connection that is under way.
    private var connecting: Task<Result<MCPRevision, MCPFailure>, Never>?
    private var lastID = 0

    init(_ description: MCPDescription, on shard: Shard) {
        self.description = description
        self.shard = shard
        requestLimit = min(description.terms.timeout, .seconds(10))
        channel =
            switch description.transport {
            case .http(let transport): MCPHTTPChannel(transport, on: shard)
            case .program(let program): MCPProgramChannel(program, on: shard)
            }
    }

    /// Ends the connection.
    func close() async {
        await channel.close()
    }

    // MARK: - Tools

    /// Asks for the tools of the server.
    func list() async -> Result<[MCPTool], MCPFailure> {
        var tools: [MCPTool] = []
        var cursor: String?
        for _ in 0..<Self.maximumPages {
            let page = cursor
            switch await send("tools/list", within: requestLimit, writeParameters: { $0.member("cursor", page) }) {
            case .failure(let failure): return .failure(failure)
            case .success(let result):
                guard let elements = result.last("tools", .array)?.elements(first: Self.maximumTools) else {
                    return .failure(.unusable("the server has answered without a list of tools"))
                }
                tools += elements.compactMap { MCPTool($0) }
                cursor = result.last("nextCursor", .string)?.string
            }
            guard cursor != nil, tools.count < Self.maximumTools else { break }
        }
        return .success(Array(tools.prefix(Self.maximumTools)))
    }

    /// Calls a tool.
    func call(_ name: String, arguments: [UInt8], key: String) async -> ToolResult {
        let result = await send("tools/call", name: name, within: description.terms.timeout) { json in
            json.member("name", name)
            json.member("arguments", raw: arguments.span)
        }
        switch result {
        case .success(let result):
            let limit = description.terms.maximumSize
            return await LongWork.run(on: result.range.count) { MCPTool.result(of: result, upTo: limit) }
        case .failure(.timedOut):
            return .failure("the server has not answered within \(description.terms.timeout.text).")
        case .failure(let failure): return .failure("\(failure.reason).")
        }
    }

    /// Sends a request on the present connection, and once more if the server has ended that before it has read it.
    private func send(
        _ method: String, name: String? = nil, within limit: Duration, writeParameters: (inout JSONWriter) -> Void
    ) async -> Result<JSONSlice, MCPFailure> {
        for isLast in [false, true] {
            let revision: MCPRevision
            switch await connect() {
            case .success(let current): revision = current
            case .failure(let failure): return .failure(failure)
            }
            let request = MCPRequest(
                method, id: nextID(), name: name, revision: revision, writeParameters: writeParameters)
            let result = await channel.result(of: request, within: limit)
            if case .failure(.sessionEnded) = result, !isLast { continue }
            return result
        }
        return .failure(.sessionEnded)
    }

    private func nextID() -> Int {
        lastID += 1
        return lastID
    }

    // MARK: - The connection

    /// Begins a connection, unless there is one. Requests that need it at the same time share it.
    private func connect() async -> Result<MCPRevision, MCPFailure> {
        if let connection, connection.generation == channel.generation { return .success(connection.revision) }
        if let connecting { return await connecting.value }
        let own = Confined(self, to: shard)
        let task = Task(executorPreference: shard) { await own.value.begin() }
        connecting = task
        return await task.value
    }

    private func begin() async -> Result<MCPRevision, MCPFailure> {
        defer { connecting = nil }
        let generation = channel.generation
        let revision: MCPRevision
        switch await negotiate() {
        case .success(let agreed): revision = agreed
        case .failure(let failure): return .failure(failure)
        }
        connection = (revision, generation)
        return .success(revision)
    }

    private func negotiate() async -> Result<MCPRevision, MCPFailure> {
        let discover = MCPRequest("server/discover", id: nextID(), revision: .stateless)
        switch await channel.result(of: discover, within: requestLimit) {
        case .success(let result):
            let versions = result.last("supportedVersions", .array)?.elements(first: 64)?.compactMap(\.string) ?? []
            if versions.contains(MCPRevision.stateless.version) { return .success(.stateless) }
        // A server without that revision refuses the request in one way or another, or ignores it.
        case .failure: break
        }
        switch await channel.result(of: .initialize(id: nextID()), within: requestLimit) {
        case .failure(let failure): return .failure(failure)
        case .success(let result):
            let version = result.last("protocolVersion", .string)?.string ?? ""
            guard MCPRevision.handshakes.contains(version) else {
                return .failure(.unusable("the server speaks another revision of the protocol: \(version.prefix(40))"))
            }
            let revision = MCPRevision.handshake(version: version)
            await channel.notify(MCPRequest.notification("notifications/initialized"), revision)
            return .success(revision)
        }
    }
}
