import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets
import ChatterdTools

/// `chatterd tools`: a list of the tools of the server, or a call of one of them.
public enum ToolsRequest: Sendable, Equatable {
    case list
    /// Calls a tool with arguments, a JSON object.
    case test(name: String, arguments: String)

    /// Reads the arguments that follow `tools`.
    ///
    /// - Throws: an error that says which argument is wrong.
    init(arguments: ArraySlice<String>) throws(UsageError) {
        var rest = arguments
        switch rest.popFirst() {
        case "list" where rest.isEmpty: self = .list
        case "test":
            guard let name = rest.popFirst() else { throw UsageError("tools test needs the name of a tool") }
            let text = rest.popFirst() ?? "{}"
            guard rest.isEmpty else { throw UsageError("tools test takes a name and one JSON object, in quotes") }
            self = .test(name: name, arguments: text)
        case let other:
            throw UsageError("tools takes list or test, not \"\(SettingText.excerpt(other ?? ""))\"")
        }
    }

    /// The limit of a text of a server, in Unicode scalars.
    private static let maximumText = 1_000

    /// Runs the command; returns the exit code: 1 if the call has failed, or if a server of the list cannot be used.
    func run(_ tools: Configuration.Tools, output: (String) -> Void) async throws -> Int32 {
        let shard = try Shard(index: 0)
        return try await Self.asking(tools, on: shard) { servers, reports in
            let problems = reports.flatMap { report in report.problems.map { "\(report.server): \($0)" } }
            return await result(tools.list, servers, problems, on: shard, output: output)
        }.get()
    }

    /// What the servers of the list say when they are asked for their tools.
    static func reports(of tools: Configuration.Tools, on shard: Shard) async -> [MCPServers.Report] {
        await asking(tools, on: shard) { _, reports in reports }
    }

    /// Asks the servers of the list for their tools, and stops them after `body`.
    private static func asking<Value>(
        _ tools: Configuration.Tools, on shard: Shard, _ body: (MCPServers, [MCPServers.Report]) async -> Value
    ) async -> Value {
        let reports = Lock<[MCPServers.Report]>([])
        let servers = MCPServers(tools.servers, taken: tools.list.map(\.name), on: shard) { report in
            reports.withLock { $0.append(report) }
        }
        await servers.start(within: .seconds(30))
        let value = await body(servers, reports.withLock { $0 })
        await servers.stop()
        return value
    }

    private func result(
        _ declared: [ToolDescription], _ servers: MCPServers, _ problems: [String], on shard: Shard,
        output: (String) -> Void
    ) async -> Result<Int32, UsageError> {
        let all = declared + servers.tools
        switch self {
        case .list:
            if all.isEmpty { output("CHATTERD_TOOLS lists no tool") }
            for tool in all { output(Self.line(of: tool)) }
            for problem in problems { output("problem: \(problem.oneLine(upTo: Self.maximumText))") }
            return .success(problems.isEmpty ? 0 : 1)
        case .test(let name, let arguments):
            guard all.contains(where: { $0.name == name }) else {
                let names = all.map(\.name).joined(separator: ", ")
                let reasons = problems.map { "; \($0)" }.joined()
                return .failure(
                    UsageError("CHATTERD_TOOLS has no tool \"\(SettingText.excerpt(name))\", only: \(names)\(reasons)"))
            }
            guard let call = Self.call(name, Array(arguments.utf8)) else {
                return .failure(UsageError(#"the arguments are not a JSON object such as {"city":"Ann Arbor"}"#))
            }
            let result = await Task(executorPreference: shard) { () async -> ToolResult in
                await ResidentTools(declared, servers: servers, programs: ProgramSlots(), on: shard).run(
                    call, key: "test")
            }.value
            output(String(decoding: result.text, as: UTF8.self))
            return .success(result.isError ? 1 : 0)
        }
    }

    /// A call as a model makes it; `nil` unless the arguments are an object.
    private static func call(_ name: String, _ arguments: [UInt8]) -> AnswerSteps.Call? {
        guard (try? JSONSlice(arguments))?.kind == .object else { return nil }
        var json = ByteBuffer()
        json.append("{\"function\":{\"name\":")
        json.append(jsonString: name)
        json.append(",\"arguments\":")
        json.append(arguments)
        json.append("}}")
        return (try? JSONSlice(json.array)).flatMap { AnswerSteps.Call($0) }
    }

    private static func line(of tool: ToolDescription) -> String {
        var facts: [String] = []
        switch tool.action {
        case .http(let action):
            let hosts = action.hosts.joined(separator: ", ")
            facts.append("\(action.method.name) \(action.url.origin.map { "\($0)" } ?? "a URL of \(hosts)")")
        case .command(let action): facts.append("runs \(action.arguments[0])")
        case .mcp(let action): facts.append("\(action.tool.oneLine(upTo: maximumText)) of \(action.name)")
        }
        facts.append("at most \(SettingText.duration(tool.terms.timeout))")
        if tool.needsApproval { facts.append("needs approval") }
        if tool.terms.isIdempotent { facts.append("idempotent") }
        if tool.terms.isParallel { facts.append("parallel") }
        let apps = tool.terms.apps.patterns
        if !apps.isEmpty { facts.append("apps \(apps.joined(separator: ", "))") }
        return "\(tool.name): \(facts.joined(separator: "; "))"
    }
}
