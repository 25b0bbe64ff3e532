import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The items of `input`, which become messages. Items of the model that follow each other (reasoning, a message, calls) are one message, as
/// a reply is stored.
struct ResponseInput {
    /// The parts that the open message of the model has.
    private enum Stage {
        case reasoning
        case text
        /// Calls of tools of servers, with their results. More of the message may follow.
        case serverCalls
        case calls
    }

    /// The types of items about tools that a server of Open Responses runs by itself, which say nothing that a message of the model does not.
    private static let foreign = [
        "web_search_call", "file_search_call", "tool_search_call", "tool_search_output", "additional_tools",
    ]

    /// The members of items that chatterd reads. Items from earlier answers have an id and a status, which mean nothing in a request.
    private enum Members {
        static let message: Set<String> = ["type", "id", "status", "role", "content", "phase"]
        static let reasoning: Set<String> = ["type", "id", "status", "summary", "content", "encrypted_content"]
        static let call: Set<String> = ["type", "id", "status", "call_id", "namespace", "name", "arguments"]
        static let customCall: Set<String> = ["type", "id", "status", "call_id", "namespace", "name", "input"]
        static let serverCall: Set<String> = [
            "type", "id", "status", "server_label", "name", "arguments", "output", "error", "approval_request_id",
        ]
        static let approvalRequest: Set<String> = ["type", "id", "server_label", "name", "arguments"]
        static let approval: Set<String> = ["type", "id", "approval_request_id", "approve", "reason"]
        static let output: Set<String> = ["type", "id", "status", "call_id", "output"]
        static let textPart: Set<String> = ["type", "text"]
        static let refusalPart: Set<String> = ["type", "refusal"]
        static let imagePart: Set<String> = ["type", "image_url", "detail"]
        static let filePart: Set<String> = ["type", "filename", "file_data", "file_url", "file_id", "input_audio"]
    }

    private var messages: [ModelMessage] = []
    /// The message of the model that the next items may belong to.
    private var open: (builder: MessageBuilder, stage: Stage)?
    /// The names of called tools by the ids of their calls: results name only the call.
    private var called: [ExactText: String] = [:]
    /// The calls that wait for an approval, by the ids of their items.
    private var asked: [ExactText: [UInt8]] = [:]
    /// The approved calls that nothing of the model follows.
    private var approved: [ApprovedCall] = []
    /// The tools of the request; `nil` for items without a request.
    private let tools: ToolTable?
    /// Whether the next item comes before the newest message of the user.
    private var isPast = false
    private var ignored: IgnoredMembers

    private init(calling tools: ToolTable?, ignored: IgnoredMembers) {
        self.tools = tools
        self.ignored = ignored
    }

    /// Translates a text, which is a message of the user, or an array of items.
    static func translate(
        items value: JSONSlice, _ path: String, ignored: inout IgnoredMembers
    ) throws(RelayError) -> [ModelMessage] {
        try translate(items: value, path, calling: nil, ignored: &ignored).messages
    }

    /// - Parameter tools: the tools of the request, with those of its items; `nil` for items without a request.
    /// - Returns: the messages, and the calls of tools of servers that the items approve.
    static func translate(
        items value: JSONSlice, _ path: String, calling tools: ToolTable?, ignored: inout IgnoredMembers
    ) throws(RelayError) -> (messages: [ModelMessage], approved: [ApprovedCall]) {
        if let text = value.string { return ([ModelMessage(role: "user", content: text)], []) }
        guard let items = value.elements(atMost: ChatRequest.maximumMessages) else {
            throw .wrongType(path, "a string or an array of at most \(ChatRequest.maximumMessages) items")
        }
        guard !items.isEmpty else { throw .invalid("\(path) must not be empty.", path) }
        var input = ResponseInput(calling: tools, ignored: ignored)
        let newest = items.lastIndex { $0.last("role", .string)?.string == "user" } ?? 0
        for (index, value) in items.enumerated() {
            let path = "\(path)[\(index)]"
            guard let item = value.members() else { throw .wrongType(path, "an object") }
            input.isPast = index < newest
            try input.add(item, in: path + ".")
        }
        input.close()
        guard !input.messages.isEmpty else {
            throw .unsupported(path, "a model needs none of its items: send a message as well.")
        }
        ignored = input.ignored
        return (input.messages, input.approved)
    }

    private mutating func add(_ item: DoorMembers, in path: String) throws(RelayError) {
        switch try item.string("type", in: path) {
        case nil where item["role"] != nil, "message":
            try item.ignore(allBut: Members.message, in: path, as: &ignored)
            try add(message: item, in: path)
        case "reasoning":
            try item.ignore(allBut: Members.reasoning, in: path, as: &ignored)
            var text = try texts(of: item, "content", "reasoning_text", in: path)
            if text.isEmpty { text = try texts(of: item, "summary", "summary_text", in: path) }
            if open?.stage == .serverCalls {
                open?.builder.thinking += text
                open?.stage = .reasoning
                return
            }
            var builder = MessageBuilder("assistant")
            builder.thinking = text
            open(builder, at: .reasoning)
        case "function_call":
            try item.ignore(allBut: Members.call, in: path, as: &ignored)
            try add(call: item, with: try item.arguments(in: path), in: path)
        case "custom_tool_call":
            try item.ignore(allBut: Members.customCall, in: path, as: &ignored)
            let input = CustomTool.arguments(of: try Self.required(item, "input", in: path))
            try add(call: item, with: input, in: path)
        case "function_call_output", "custom_tool_call_output":
            try item.ignore(allBut: Members.output, in: path, as: &ignored)
            close()
            var builder = MessageBuilder("tool")
            builder.callID = try Self.required(item, "call_id", in: path)
            builder.toolName = builder.callID.flatMap { called[$0] }
            try add(content: item, "output", to: &builder, in: path)
            messages.append(builder.build())
        case "mcp_approval_request":
            try item.ignore(allBut: Members.approvalRequest, in: path, as: &ignored)
            let id = try Self.required(item, "id", in: path)
            let arguments = try item.arguments(in: path)
            let name = try Self.origin(of: item, in: path).possibleName
            add(call: id, name, arguments)
            asked[id] = ApprovedCall.json(id, name: name, arguments: arguments)
        case "mcp_approval_response":
            try item.ignore(allBut: Members.approval, in: path, as: &ignored)
            try add(approval: item, in: path)
        case "mcp_call":
            try item.ignore(allBut: Members.serverCall, in: path, as: &ignored)
            try add(serverCall: item, in: path)
        // The request has the tools of its servers.
        case "mcp_list_tools": break
        case "additional_tools" where tools != nil: break
        case "item_reference":
            throw .unsupported(
                "\(path)type", "send the items themselves, or previous_response_id, or conversation.")
        case let type? where Self.foreign.contains(type):
            try ignored.add(String(path.dropLast()), "a model needs no item of the type \(type).")
        default:
            throw .unsupported(
                "\(path)type",
                "use message, reasoning, function_call, custom_tool_call, the output of a call, mcp_call, "
                    + "mcp_approval_request or mcp_approval_response.")
        }
    }

    private mutating func add(message item: DoorMembers, in path: String) throws(RelayError) {
        let role = try Self.required(item, "role", in: path)
        var builder = MessageBuilder(role == "developer" ? "system" : role)
        switch role {
        case "user", "system", "developer": break
        case "assistant":
            try add(content: item, "content", to: &builder, in: path)
            switch open?.stage {
            case .reasoning, .serverCalls:
                // A message continues the reasoning, or the calls of tools of servers, before it.
                open?.builder.text += builder.text
                open?.stage = .text
            case .text, .calls, nil: open(builder, at: .text)
            }
            return
        default: throw .unsupported("\(path)role", "use user, assistant, system or developer.")
        }
        close()
        try add(content: item, "content", to: &builder, in: path)
        messages.append(builder.build())
    }

    private mutating func add(
        call item: DoorMembers, with arguments: [UInt8], in path: String
    ) throws(RelayError) {
        let id = try Self.required(item, "call_id", in: path)
        let own = try Self.required(item, "name", in: path)
        let namespace = try item.string("namespace", in: path)
        add(call: id, tools?.called(own, of: namespace) ?? ToolTable.called(own, of: namespace), arguments)
    }

    private mutating func add(call id: String, _ name: String, _ arguments: [UInt8]) {
        approved = []
        called[id] = name
        if open == nil { open(MessageBuilder("assistant"), at: .calls) }
        open?.builder.add(call: id, name: name, arguments: arguments)
        open?.stage = .calls
    }

    /// Adds the answer to a call of a tool of a server that waits for an approval.
    private mutating func add(approval item: DoorMembers, in path: String) throws(RelayError) {
        close()
        let id = try Self.required(item, "approval_request_id", in: path)
        guard let isApproved = try item.boolean("approve", in: path) else {
            throw .invalid("\(path)approve is missing.", "\(path)approve")
        }
        let reason = try item.string("reason", in: path).map { " The reason is: \($0)" } ?? ""
        var builder = MessageBuilder("tool")
        (builder.callID, builder.toolName) = (id, called[id])
        builder.text = (isApproved ? ApprovedCall.approval : ApprovedCall.refusal) + reason
        messages.append(builder.build())
        if isApproved { approved.append(ApprovedCall(id: id, json: asked[id])) }
    }

    private static func origin(of item: DoorMembers, in path: String) throws(RelayError) -> ToolOrigin {
        ToolOrigin(label: try required(item, "server_label", in: path), name: try required(item, "name", in: path))
    }

    /// Adds a call of a tool of a server with its result.
    private mutating func add(serverCall item: DoorMembers, in path: String) throws(RelayError) {
        let origin = try Self.origin(of: item, in: path)
        if open == nil || open?.stage == .calls { open(MessageBuilder("assistant"), at: .serverCalls) }
        // The id that a response gives to a call is that of its round and the number of the call.
        let id = Array((try item.string("id", in: path) ?? "").utf8)
        let group = Array(id[..<(id.lastIndex(of: UInt8(ascii: "_")) ?? 0)])
        open?.builder.add(
            callOf: origin, in: group, arguments: try item.arguments(in: path), try Self.end(of: item, in: path))
        open?.stage = .serverCalls
    }

    /// How a call of a tool of a server has ended, and its result.
    private static func end(
        of call: DoorMembers, in path: String
    ) throws(RelayError) -> (state: AnswerSteps.State, result: String) {
        if let output = try call.string("output", in: path) { return (.done, output) }
        guard let error = call["error"] else {
            return (.unknown, "The outcome of this call is unknown.")
        }
        if let text = error.string { return (.failed, text) }
        if let text = error.last("message", .string)?.string { return (.failed, text) }
        let parts = error.last("content", .array)?.elements() ?? []
        let texts = parts.compactMap { $0.last("text", .string)?.string }
        return (.failed, texts.isEmpty ? String(decoding: error.json, as: UTF8.self) : texts.joined(separator: "\n"))
    }

    /// Ends the open message, and opens another one.
    private mutating func open(_ builder: MessageBuilder, at stage: Stage) {
        close()
        approved = []
        open = (builder, stage)
    }

    private mutating func close() {
        if let open { messages.append(open.builder.build()) }
        open = nil
    }

    // MARK: - Parts

    private static func required(_ item: DoorMembers, _ name: String, in path: String) throws(RelayError) -> String {
        guard let text = try item.string(name, in: path) else {
            throw .invalid("\(path)\(name) is missing.", "\(path)\(name)")
        }
        return text
    }

    /// Ignores all members of a part but the known ones, and empty lists: parts of answers have `annotations` and `logprobs`.
    private mutating func ignore(allBut known: Set<String>, of part: DoorMembers, in path: String) throws(RelayError) {
        try part.ignore(allBut: known, in: path + ".", as: &ignored) { part[$0]?.elements()?.isEmpty == true }
    }

    /// The texts of the parts of one type in a member, joined.
    private mutating func texts(
        of item: DoorMembers, _ name: String, _ type: String, in path: String
    ) throws(RelayError) -> String {
        var text = ""
        for (index, value) in (try item.array(name, in: path) ?? []).enumerated() {
            let path = "\(path)\(name)[\(index)]"
            guard let part = value.members(), try part.string("type", in: path + ".") == type else {
                throw .unsupported("\(path).type", "use \(type).")
            }
            try ignore(allBut: Members.textPart, of: part, in: path)
            text += try part.string("text", in: path + ".") ?? ""
        }
        return text
    }

    /// Adds a text, or parts with texts and images.
    private mutating func add(
        content item: DoorMembers, _ name: String, to builder: inout MessageBuilder, in path: String
    ) throws(RelayError) {
        guard let content = item[name] else { throw .invalid("\(path)\(name) is missing.", "\(path)\(name)") }
        if let text = content.string {
            builder.text = text
            return
        }
        guard let parts = content.elements() else {
            throw .wrongType("\(path)\(name)", "a string or an array of parts")
        }
        for (index, value) in parts.enumerated() {
            let path = "\(path)\(name)[\(index)]"
            guard let part = value.members() else { throw .wrongType(path, "an object") }
            switch try part.string("type", in: path + ".") {
            case "input_text", "output_text", "text":
                try ignore(allBut: Members.textPart, of: part, in: path)
                builder.add(text: try Self.required(part, "text", in: path + "."))
            case "refusal":
                try ignore(allBut: Members.refusalPart, of: part, in: path)
                builder.add(text: try Self.required(part, "refusal", in: path + "."))
            case "input_image": try add(image: part, to: &builder, in: path)
            case "input_file", "input_audio":
                try ignore(allBut: Members.filePart, of: part, in: path)
                let name = try part.string("filename", in: path + ".")
                builder.add(
                    text: try ignored.note(
                        ofFile: name, isPast: isPast, at: path,
                        refusing: path + ".type", "use input_text, output_text, refusal or input_image."))
            default:
                throw .unsupported("\(path).type", "use input_text, output_text, refusal or input_image.")
            }
        }
    }

    private mutating func add(
        image part: DoorMembers, to builder: inout MessageBuilder, in path: String
    ) throws(RelayError) {
        if part["file_id"] != nil {
            builder.add(
                text: try ignored.note(
                    ofFile: nil, isPast: isPast, at: path,
                    refusing: path + ".file_id", "send the image itself, as image_url."))
            return
        }
        try ignore(allBut: Members.imagePart, of: part, in: path)
        try ignored.add(detailOf: part, in: path + ".")
        try builder.add(imageURL: try Self.required(part, "image_url", in: path + "."), in: path + ".image_url")
    }
}
