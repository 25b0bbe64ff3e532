import ChatterdBasics
import ChatterdRelay

/// `require_approval` of a server of tools: before which calls the client wants to be asked.
struct RequestedApproval: Sendable {
    private enum Rule: Sendable {
        case always
        case never
    }

    /// The rule of the tools without one of their own.
    private let rule: Rule
    private var rules: [ExactText: Rule] = [:]

    /// Reads the member of a tool; without it, the client is always asked, as by OpenAI.
    init(of tool: DoorMembers, in path: String) throws(RelayError) {
        let name = "\(path)require_approval"
        guard let value = tool["require_approval"], value.kind == .object else {
            switch try tool.string("require_approval", in: path) {
            case nil, "always": rule = .always
            case "never": rule = .never
            default: throw .unsupported(name, "use \"never\", \"always\", or an object with tool_names of both.")
            }
            return
        }
        rule = .always
        guard let members = value.members() else { throw .wrongType(name, "an object") }
        for (key, rule) in [("never", Rule.never), ("always", .always)] {
            guard let list = try members.object(key, in: name + ".") else { continue }
            guard list.names.allSatisfy({ $0 == "tool_names" }) else {
                throw .unsupported("\(name).\(key)", "name the tools in tool_names.")
            }
            for element in try list.array("tool_names", in: "\(name).\(key).", atMost: ToolTable.maximumTools) ?? [] {
                guard let tool = element.string else {
                    throw .wrongType("\(name).\(key).tool_names", "an array of names")
                }
                rules[ExactText(tool)] = rule
            }
        }
    }

    /// Whether the client wants to be asked before calls of a tool.
    func isAsked(_ tool: String) -> Bool { (rules[ExactText(tool)] ?? rule) == .always }
}
