import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
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

    /// Runs the command; returns the exit code: 1 if the call has failed.
    func run(_ tools: [ToolDescription], output: (String) -> Void) async throws -> Int32 {
        switch self {
        case .list:
            if tools.isEmpty { output("CHATTERD_TOOLS lists no tool") }
            for tool in tools { output(Self.line(of: tool)) }
            return 0
        case .test(let name, let arguments):
            guard let tool = tools.first(where: { $0.name == name }) else {
                let names = tools.map(\.name).joined(separator: ", ")
                throw UsageError("CHATTERD_TOOLS has no tool \"\(SettingText.excerpt(name))\", only: \(names)")
            }
            let result = try await Self.call(tool, Array(arguments.utf8))
            output(String(decoding: result.text, as: UTF8.self))
            return result.isError ? 1 : 0
        }
    }

    private static func call(_ tool: ToolDescription, _ arguments: [UInt8]) async throws -> ToolResult {
        guard (try? JSONSlice(arguments))?.kind == .object else {
            throw UsageError(#"the arguments are not a JSON object such as {"city":"Ann Arbor"}"#)
        }
        var json = ByteBuffer()
        json.append("{\"function\":{\"name\":")
        json.append(jsonString: tool.name)
        json.append(",\"arguments\":")
        json.append(arguments)
        json.append("}}")
        guard let call = AnswerSteps.Call(try JSONSlice(json.array)) else {
            throw UsageError("the call cannot be made")
        }
        let shard = try Shard(index: 0)
        let result = await Task(executorPreference: shard) { () async -> ToolResult in
            await ResidentTools([tool], programs: ProgramSlots(), on: shard).run(call, key: "test")
        }.value
        return result
    }

    private static func line(of tool: ToolDescription) -> String {
        var facts: [String] = []
        switch tool.action {
        case .http(let action):
            let hosts = action.hosts.joined(separator: ", ")
            facts.append("\(action.method.name) \(action.url.origin.map { "\($0)" } ?? "a URL of \(hosts)")")
        case .command(let action): facts.append("runs \(action.arguments[0])")
        }
        facts.append("at most \(SettingText.duration(tool.timeout))")
        if tool.approval == .always { facts.append("needs approval") }
        if tool.isIdempotent { facts.append("idempotent") }
        if tool.isParallel { facts.append("parallel") }
        if !tool.apps.isEmpty { facts.append("apps \(tool.apps.joined(separator: ", "))") }
        return "\(tool.name): \(facts.joined(separator: "; "))"
    }
}
