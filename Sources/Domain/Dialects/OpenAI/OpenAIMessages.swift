import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The messages of `/v1/chat/completions`.
enum OpenAIMessages {
    /// The members of a message that are translated; others are refused. `provider_specific_fields` has no effect: LiteLLM keeps there
    /// what a server says beside an answer, and sends it back with the message.
    static let members: Set<String> = [
        "role", "content", "name", "refusal", "reasoning_content", "reasoning", "tool_calls", "tool_call_id",
        "annotations", "provider_specific_fields",
    ]

    /// Translates `messages`.
    static func translate(_ body: DoorMembers) throws(RelayError) -> [ModelMessage] {
        guard let list = try body.array("messages", atMost: ChatRequest.maximumMessages) else {
            throw .invalid("messages is missing.", "messages")
        }
        guard !list.isEmpty else { throw .invalid("messages must not be empty.", "messages") }
        var messages: [ModelMessage] = []
        messages.reserveCapacity(list.count)
        // The names of called tools by the ids of their calls: results of tools name only the call.
        var tools: [ExactText: String] = [:]
        for (index, value) in list.enumerated() {
            let path = "messages[\(index)]."
            guard let message = value.members() else { throw .wrongType("messages[\(index)]", "an object") }
            messages.append(try translate(message, in: path, tools: &tools))
        }
        return messages
    }

    private static func translate(
        _ message: DoorMembers, in path: String, tools: inout [ExactText: String]
    ) throws(RelayError) -> ModelMessage {
        try message.require(only: members, in: path)
        guard let role = try message.string("role", in: path) else {
            throw .invalid("\(path)role is missing.", "\(path)role")
        }
        var builder = MessageBuilder(role)
        switch role {
        case "developer": builder.role = "system"
        case "system", "user", "assistant", "tool": break
        default: throw .unsupported("\(path)role", "use system, developer, user, assistant or tool.")
        }
        try add(content: message, to: &builder, in: path)
        if let refusal = try message.string("refusal", in: path) { builder.text += refusal }
        let reasoning = try message.string("reasoning", in: path)
        builder.thinking = try message.string("reasoning_content", in: path) ?? reasoning ?? ""
        if let annotations = try message.array("annotations", in: path), !annotations.isEmpty {
            throw .unsupported("\(path)annotations", "leave them out.")
        }
        try add(calls: message, to: &builder, in: path, tools: &tools)
        let name = try message.string("name", in: path)
        if role == "tool" {
            builder.callID = try message.string("tool_call_id", in: path)
            builder.toolName = name ?? builder.callID.flatMap { tools[$0] }
        } else if name != nil {
            throw .unsupported("\(path)name", "write the name into the text.")
        }
        return builder.build()
    }

    private static func add(
        content message: DoorMembers, to builder: inout MessageBuilder, in path: String
    ) throws(RelayError) {
        guard let content = message["content"] else { return }
        if let text = content.string {
            builder.text = text
            return
        }
        guard let parts = content.elements() else {
            throw .wrongType("\(path)content", "a string or an array of parts")
        }
        for (index, value) in parts.enumerated() {
            let path = "\(path)content[\(index)]"
            guard let part = value.members() else { throw .wrongType(path, "an object") }
            switch try part.string("type", in: path + ".") {
            case "text": builder.text += try part.string("text", in: path + ".") ?? ""
            case "refusal": builder.text += try part.string("refusal", in: path + ".") ?? ""
            case "image_url": try add(image: part, to: &builder, in: path)
            default: throw .unsupported("\(path).type", "use text or image_url.")
            }
        }
    }

    private static func add(
        image part: DoorMembers, to builder: inout MessageBuilder, in path: String
    ) throws(RelayError) {
        let path = path + ".image_url"
        if let url = part["image_url"]?.string {
            try builder.add(imageURL: url, in: path)
            return
        }
        guard let image = part["image_url"]?.members(), let url = try image.string("url", in: path + ".") else {
            throw .wrongType(path, "an object with url")
        }
        if let detail = try image.string("detail", in: path + "."), detail != "auto" {
            throw .unsupported(path + ".detail", "model servers choose it.")
        }
        try builder.add(imageURL: url, in: path + ".url")
    }

    private static func add(
        calls message: DoorMembers, to builder: inout MessageBuilder, in path: String, tools: inout [ExactText: String]
    ) throws(RelayError) {
        for (index, value) in (try message.array("tool_calls", in: path) ?? []).enumerated() {
            let path = "\(path)tool_calls[\(index)]"
            guard let call = value.members(), let function = try call.object("function", in: path + "."),
                let name = try function.string("name", in: path + ".function.")
            else { throw .unsupported(path, "a call needs function.name.") }
            let id = try call.string("id", in: path + ".")
            if let id { tools[id] = name }
            builder.add(call: id, name: name, arguments: try function.arguments(in: path + ".function."))
        }
    }
}
