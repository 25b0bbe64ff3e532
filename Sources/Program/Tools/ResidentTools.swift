import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets

/// The tools of the server on one shard. Confined to its shard.
public final class ResidentTools: ToolRunner {
    /// The limit of calls that run at once on a shard. Another one has a result that says so.
    static let maximumCalls = 64
    /// The limit of the arguments of a call, in bytes.
    static let maximumArguments = 64 << 10

    private let declared: [ToolDescription]
    private let servers: MCPServers?
    private let shard: Shard
    private let client: HTTPToolClient
    private let programs: ProgramSlots
    private let observe: (ToolCallReport) -> Void
    private var running = 0

    /// Creates the tools of a shard, on any thread.
    ///
    /// - Parameters:
    ///   - servers: those of the process that speak the Model Context Protocol.
    ///   - programs: those of the process.
    ///   - observe: gets each end of a call of a known tool, on the shard.
    public init(
        _ declared: [ToolDescription], servers: MCPServers? = nil, programs: ProgramSlots, on shard: Shard,
        observe: @escaping (ToolCallReport) -> Void = { _ in }
    ) {
        self.declared = declared
        self.servers = servers
        self.programs = programs
        self.observe = observe
        self.shard = shard
        client = HTTPToolClient(on: shard)
    }

    /// The tools that an app may use, as a model gets them.
    public func offers(to app: String) -> [ServerTool] {
        (declared + (servers?.tools ?? [])).filter { $0.terms.apps.contains(app) }.map(\.offer)
    }

    /// The tools of a server that speaks the Model Context Protocol, as a model gets them.
    ///
    /// - Parameters:
    ///   - url: the one by which the client knows the server; `nil` if it does not say.
    ///   - names: the tools that the client wants, as the server names them; `nil` for all.
    /// - Returns: `nil` if no such server is declared, or the app may not use it.
    public func offers(to app: String, of server: String, at url: String?, only names: [String]?) -> [ServerTool]? {
        guard let servers, servers.has(server, at: url, for: app) else { return nil }
        return servers.tools.filter { tool in
            guard case .mcp(let action) = tool.action, action.name == server else { return false }
            return names?.contains(action.tool) ?? true
        }.map(\.offer)
    }

    public func isOffered(_ name: String, to app: String) -> Bool { terms(of: name)?.apps.contains(app) ?? false }

    public func isIdempotent(_ name: String) -> Bool { terms(of: name)?.isIdempotent ?? false }

    public func needsApproval(_ name: String) -> Bool {
        // Until its server has answered, every tool may change something.
        tool(name)?.needsApproval ?? (terms(of: name).map { $0.approval != .never } ?? false)
    }

    public func isParallel(_ name: String) -> Bool { terms(of: name)?.isParallel ?? false }

    public func start(
        _ call: AnswerSteps.Call, key: String, completion: @escaping (ToolResult) -> Void
    ) -> () -> Void {
        let own = Confined((tools: self, completion: completion), to: shard)
        let task = Task(executorPreference: shard) {
            let result = await own.value.tools.run(call, key: key)
            own.value.completion(result)
        }
        return { task.cancel() }
    }

    /// Runs a call to its end.
    public func run(_ call: AnswerSteps.Call, key: String) async -> ToolResult {
        var found = tool(call.name)
        if found == nil { found = await servers?.find(call.name) }
        guard let tool = found else { return .failure("there is no tool of this name any more.") }
        let start = shard.now
        let result = await run(call, of: tool, key: key)
        observe(ToolCallReport(tool: tool.name, isError: result.isError, time: shard.now - start))
        return result
    }

    private func run(_ call: AnswerSteps.Call, of tool: ToolDescription, key: String) async -> ToolResult {
        guard running < Self.maximumCalls else {
            return .failure("not run, because \(Self.maximumCalls) calls run at this moment.")
        }
        guard call.arguments.count <= Self.maximumArguments else {
            return .failure("not run, because the arguments have more than \(Self.maximumArguments) bytes.")
        }
        running += 1
        defer { running -= 1 }
        let (schema, text) = (tool.schema, call.arguments)
        if let violation = await LongWork.run(on: LongWork.unknownSize, { schema.violation(of: text) }) {
            let place = violation.pointer.isEmpty ? "the object" : "the value at \(violation.pointer)"
            return .failure("the arguments do not fit their schema: \(place) \(violation.reason).")
        }
        guard !Task.isCancelled else { return .failure("the call was stopped.") }
        guard let arguments = try? JSONSlice(text) else { return .failure("the arguments are not JSON.") }
        switch tool.action {
        case .http(let action): return await client.run(action, of: tool, with: arguments, key: key)
        case .command(let action): return await run(action, of: tool, input: arguments.json, key: key)
        case .mcp(let action): return await action.run(with: arguments)
        }
    }

    private func run(
        _ action: ToolDescription.CommandAction, of tool: ToolDescription, input: [UInt8], key: String
    ) async -> ToolResult {
        guard programs.take() else {
            return .failure("not run, because \(ProgramSlots.maximumCount) programs run at this moment.")
        }
        defer { programs.give() }
        let run = CommandRun(action, of: tool, input: input, key: key)
        return await withTaskCancellationHandler {
            await run.result()
        } onCancel: {
            run.cancel()
        }
    }

    private func terms(of name: String) -> ToolTerms? {
        declared.first { $0.name == name }?.terms ?? servers?.terms(of: name)
    }

    private func tool(_ name: String) -> ToolDescription? {
        declared.first { $0.name == name } ?? servers?.tool(name)
    }
}

/// The end of a call of a tool, for the metrics and the log.
public struct ToolCallReport: Sendable {
    public let tool: String
    /// Whether the tool has failed or refused the call.
    public let isError: Bool
    public let time: Duration
}

/// The programs that a process runs for its tools.
public final class ProgramSlots: Sendable {
    /// The limit of programs at once. Another call has a result that says so.
    static let maximumCount = 8

    private let count = Lock(0)

    public init() {}

    /// Takes a slot; `false` if none is free.
    func take() -> Bool {
        count.withLock { count in
            guard count < Self.maximumCount else { return false }
            count += 1
            return true
        }
    }

    func give() {
        count.withLock { $0 -= 1 }
    }
}
