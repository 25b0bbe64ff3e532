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
    /// Whether the server has ended when it was asked for the stateless revision.
    private var startsWithHandshake = false
    private var isClosed = false
    private var lastID = 0

    init(_ description: MCPDescription, on shard: Shard, requestLimit: Duration) {
        self.description = description
        self.shard = shard
        self.requestLimit = min(description.terms.timeout, requestLimit)
        channel =
            switch description.transport {
            case .http(let transport): MCPHTTPChannel(transport, on: shard)
            case .program(let program): MCPProgramChannel(program, on: shard)
            }
    }

    /// Ends the connection, and begins no other.
    func close() async {
        isClosed = true
        await channel.close()
    }

    // MARK: - Tools

    /// Asks for the tools of the server.
    func list() async -> Result<[MCPTool], MCPFailure> {
        var tools: [MCPTool] = []
        var cursor: String?
        for _ in 0..<Self.maximumPages {
            let previous = cursor
            switch await send("tools/list", within: requestLimit, { $0.member("cursor", previous) }) {
            case .failure(let failure): return .failure(failure)
            case .success(let result):
                guard let page = await LongWork.run(on: result.range.count, { Self.tools(of: result) }) else {
                    return .failure(.unusable("the server has answered without a list of tools"))
                }
                tools += page
                cursor = result.last("nextCursor", .string)?.string
            }
            guard cursor != nil, tools.count < Self.maximumTools else { break }
        }
        return .success(Array(tools.prefix(Self.maximumTools)))
    }

    private static func tools(of result: JSONSlice) -> [MCPTool]? {
        result.last("tools", .array)?.elements(first: maximumTools)?.compactMap { MCPTool($0) }
    }

    /// Calls a tool, and ends the call at the limit of its time, which counts from now.
    func call(_ name: String, arguments: [UInt8]) async -> ToolResult {
        let (own, limit) = (Confined(self, to: shard), description.terms.timeout)
        var outcome: Result<JSONSlice, MCPFailure> = .failure(.timedOut)
        do throws(TimeoutError) {
            outcome = try await shard.withTimeout(limit) {
                await own.value.send("tools/call", name: name, within: limit) { json in
                    json.member("name", name)
                    json.member("arguments", raw: arguments.span)
                }
            }
        } catch {
            // The outcome says so.
        }
        switch outcome {
        case .success(let result):
            let limit = description.terms.maximumSize
            return await LongWork.run(on: result.range.count) { MCPTool.result(of: result, upTo: limit) }
        case .failure(.timedOut): return .failure("the server has not answered within \(limit.text).")
        case .failure(let failure): return .failure("\(failure.reason).")
        }
    }

    /// Sends a request on the present connection, and once more if the server has forgotten that, and so has done nothing.
    private func send(
        _ method: String, name: String? = nil, within limit: Duration,
        _ writeParameters: (inout JSONWriter) -> Void
    ) async -> Result<JSONSlice, MCPFailure> {
        for isLast in [false, true] {
            let revision: MCPRevision
            switch await connect() {
            case .success(let current): revision = current
            case .failure(let failure): return .failure(failure)
            }
            // A call that was stopped while it waited for the connection is not made.
            guard !Task.isCancelled else { return .failure(.timedOut) }
            let request = MCPRequest(
                method, id: nextID(), name: name, revision: revision, writeParameters: writeParameters)
            let result = await channel.result(of: request, within: limit)
            if case .failure(.sessionEnded) = result, !isLast { continue }
            // Another server, or another version of it, may answer from now on.
            if case .failure(.unusable) = result { connection = nil }
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
        if !startsWithHandshake {
            let generation = channel.generation
            if await isStateless() {
                connection = (.stateless, generation)
                return .success(.stateless)
            }
            // A program that ends instead of an answer does so each time.
            startsWithHandshake = channel.generation != generation
        }
        guard !isClosed else { return .failure(.unusable("chatterd stops")) }
        let generation = channel.generation
        let outcome = await shakeHands()
        switch outcome {
        case .success(let revision): connection = (revision, generation)
        case .failure: startsWithHandshake = false
        }
        return outcome
    }

    /// Whether the server speaks the stateless revision. One without it refuses the request in one way or another, or ignores it.
    private func isStateless() async -> Bool {
        let discover = MCPRequest("server/discover", id: nextID(), revision: .stateless)
        guard case .success(let result) = await channel.result(of: discover, within: requestLimit) else { return false }
        let versions = result.last("supportedVersions", .array)?.elements(first: 64)?.compactMap(\.string) ?? []
        return versions.contains(MCPRevision.stateless.version)
    }

    private func shakeHands() async -> Result<MCPRevision, MCPFailure> {
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
