import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The messages and blocks of `/v1/messages`.
enum AnthropicContent {
    /// Translates `messages`. A message with results of tools becomes one message for each of them.
    static func messages(_ body: DoorMembers) throws(RelayError) -> [ModelMessage] {
        guard let list = try body.array("messages", atMost: ChatRequest.maximumMessages) else {
            throw .invalid("messages: Field required", "messages")
        }
        guard !list.isEmpty else { throw .invalid("messages: at least one message is required", "messages") }
        var messages: [ModelMessage] = []
        // The names of called tools by the ids of their calls: results of tools name only the call.
        var tools: [ExactText: String] = [:]
        for (index, value) in list.enumerated() {
            let path = "messages[\(index)]"
            guard let message = value.members() else { throw .wrongType(path, "an object") }
            try message.require(only: ["role", "content"], in: path + ".")
            guard let role = try message.string("role", in: path + "."), ["user", "assistant"].contains(role) else {
                throw .unsupported("\(path).role", "use user or assistant, and system for the system.")
            }
            guard let content = message["content"] else {
                throw .invalid("\(path).content: Field required", "\(path).content")
            }
            messages += try translate(content, by: role, at: "\(path).content", tools: &tools)
        }
        return messages
    }

    private static func translate(
        _ content: JSONSlice, by role: String, at path: String, tools: inout [ExactText: String]
    ) throws(RelayError) -> [ModelMessage] {
        if let text = content.string { return [ModelMessage(role: role, content: text)] }
        guard let blocks = content.elements() else { throw .wrongType(path, "a string or an array of blocks") }
        var results: [ModelMessage] = []
        var builder = MessageBuilder(role)
        for (index, value) in blocks.enumerated() {
            let path = "\(path)[\(index)]"
            guard let block = value.members() else { throw .wrongType(path, "an object") }
            switch try block.string("type", in: path + ".") {
            case "text": builder.text += try text(in: block, at: path)
            case "image": try add(image: block, to: &builder, at: path)
            case "thinking": builder.thinking += try block.string("thinking", in: path + ".") ?? ""
            case "tool_use": try add(call: block, to: &builder, at: path, tools: &tools)
            case "tool_result": results.append(try result(block, at: path, tools: tools))
            default:
                throw .unsupported(
                    "\(path).type", "use text, image, thinking, tool_use or tool_result.")
            }
        }
        return builder.isEmpty && !results.isEmpty ? results : results + [builder.build()]
    }

    private static func text(in block: DoorMembers, at path: String) throws(RelayError) -> String {
        try block.require(only: ["type", "text", "cache_control", "citations"], in: path + ".")
        if let citations = block["citations"], citations.elements()?.isEmpty != true {
            throw .unsupported("\(path).citations", "leave them out.")
        }
        return try block.string("text", in: path + ".") ?? ""
    }

    /// The text of a string or of blocks of text; `nil` if it is absent.
    static func text(of value: JSONSlice?, at path: String) throws(RelayError) -> String? {
        guard let value else { return nil }
        if let text = value.string { return text }
        guard let blocks = value.elements() else { throw .wrongType(path, "a string or an array of blocks") }
        var joined = ""
        for (index, value) in blocks.enumerated() {
            let path = "\(path)[\(index)]"
            guard let block = value.members() else { throw .wrongType(path, "an object") }
            guard try block.string("type", in: path + ".") == "text" else {
                throw .unsupported("\(path).type", "use text here.")
            }
            joined += try text(in: block, at: path)
        }
        return joined
    }

    private static func add(
        image block: DoorMembers, to builder: inout MessageBuilder, at path: String
    ) throws(RelayError) {
        let path = path + ".source."
        guard let source = block["source"]?.members() else { throw .wrongType(path + "type", "base64 or url") }
        switch try source.string("type", in: path) {
        case "base64": builder.add(image: try source.string("data", in: path) ?? "")
        case "url": try builder.add(imageURL: try source.string("url", in: path) ?? "", in: path + "url")
        default: throw .unsupported(path + "type", "use base64 or url.")
        }
    }

    private static func add(
        call block: DoorMembers, to builder: inout MessageBuilder, at path: String, tools: inout [ExactText: String]
    ) throws(RelayError) {
        guard let name = try block.string("name", in: path + ".") else {
            throw .invalid("\(path).name: Field required", "\(path).name")
        }
        let id = try block.string("id", in: path + ".")
        if let id { tools[id] = name }
        builder.add(call: id, name: name, arguments: block["input"]?.json ?? Array("{}".utf8))
    }

    private static func result(
        _ block: DoorMembers, at path: String, tools: [ExactText: String]
    ) throws(RelayError) -> ModelMessage {
        var builder = MessageBuilder("tool")
        builder.callID = try block.string("tool_use_id", in: path + ".")
        builder.toolName = builder.callID.flatMap { tools[$0] }
        guard let content = block["content"] else { return builder.build() }
        if let text = content.string {
            builder.text = text
            return builder.build()
        }
        guard let parts = content.elements() else {
            throw .wrongType("\(path).content", "a string or an array of blocks")
        }
        for (index, value) in parts.enumerated() {
            let path = "\(path).content[\(index)]"
            guard let part = value.members() else { throw .wrongType(path, "an object") }
            switch try part.string("type", in: path + ".") {
            case "text": builder.text += try text(in: part, at: path)
            case "image": try add(image: part, to: &builder, at: path)
            default: throw .unsupported("\(path).type", "use text or image.")
            }
        }
        return builder.build()
    }
}
