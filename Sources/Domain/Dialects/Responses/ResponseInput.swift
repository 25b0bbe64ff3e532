import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The items of `input`, which become messages. Items of the model that follow each other (reasoning, a message, calls) are one message, as
/// a reply is stored.
struct ResponseInput {
    /// The parts that the open message of the model has.
    private enum Stage: Int, Comparable {
        case reasoning
        case text
        case calls

        static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
    }

    private var messages: [ModelMessage] = []
    /// The message of the model that the next items may belong to.
    private var open: (builder: MessageBuilder, stage: Stage)?
    /// The names of called tools by the ids of their calls: results name only the call.
    private var tools: [ExactText: String] = [:]

    /// Translates `input`.
    static func translate(_ body: DoorMembers) throws(RelayError) -> [ModelMessage] {
        guard let input = body["input"] else { throw .invalid("input is missing.", "input") }
        return try translate(items: input, "input")
    }

    /// Translates a text, which is a message of the user, or an array of items.
    static func translate(items value: JSONSlice, _ path: String) throws(RelayError) -> [ModelMessage] {
        if let text = value.string { return [ModelMessage(role: "user", content: text)] }
        guard let items = value.elements(atMost: ChatRequest.maximumMessages) else {
            throw .wrongType(path, "a string or an array of at most \(ChatRequest.maximumMessages) items")
        }
        guard !items.isEmpty else { throw .invalid("\(path) must not be empty.", path) }
        var input = ResponseInput()
        for (index, value) in items.enumerated() {
            let path = "\(path)[\(index)]"
            guard let item = value.members() else { throw .wrongType(path, "an object") }
            try input.add(item, in: path + ".")
        }
        input.close()
        return input.messages
    }

    private mutating func add(_ item: DoorMembers, in path: String) throws(RelayError) {
        // Items from earlier answers have an id and a status, which mean nothing in a request.
        let common: Set<String> = ["type", "id", "status"]
        switch try item.string("type", in: path) {
        case nil where item["role"] != nil, "message":
            try item.require(only: common.union(["role", "content", "phase"]), in: path)
            try add(message: item, in: path)
        case "reasoning":
            try item.require(only: common.union(["summary", "content", "encrypted_content"]), in: path)
            var builder = MessageBuilder("assistant")
            let text = try Self.texts(of: item, "content", "reasoning_text", in: path)
            builder.thinking = text.isEmpty ? try Self.texts(of: item, "summary", "summary_text", in: path) : text
            open(builder, at: .reasoning)
        case "function_call":
            try item.require(only: common.union(["call_id", "name", "arguments"]), in: path)
            try add(call: item, in: path)
        case "function_call_output":
            try item.require(only: common.union(["call_id", "output"]), in: path)
            close()
            var builder = MessageBuilder("tool")
            builder.callID = try Self.required(item, "call_id", in: path)
            builder.toolName = builder.callID.flatMap { tools[$0] }
            try Self.add(content: item, "output", to: &builder, in: path)
            messages.append(builder.build())
        case "item_reference":
            throw .unsupported(
                "\(path)type", "send the items themselves, or previous_response_id, or conversation.")
        default:
            throw .unsupported(
                "\(path)type", "use message, reasoning, function_call or function_call_output.")
        }
    }

    private mutating func add(message item: DoorMembers, in path: String) throws(RelayError) {
        let role = try Self.required(item, "role", in: path)
        var builder = MessageBuilder(role == "developer" ? "system" : role)
        switch role {
        case "user", "system", "developer": break
        case "assistant":
            // A message continues the reasoning before it.
            if let open, open.stage < .text { builder.thinking = open.builder.thinking; self.open = nil }
            try Self.add(content: item, "content", to: &builder, in: path)
            open(builder, at: .text)
            return
        default: throw .unsupported("\(path)role", "use user, assistant, system or developer.")
        }
        close()
        try Self.add(content: item, "content", to: &builder, in: path)
        messages.append(builder.build())
    }

    private mutating func add(call item: DoorMembers, in path: String) throws(RelayError) {
        let id = try Self.required(item, "call_id", in: path)
        let name = try Self.required(item, "name", in: path)
        tools[id] = name
        if open == nil { open(MessageBuilder("assistant"), at: .calls) }
        open?.builder.add(call: id, name: name, arguments: try item.arguments(in: path))
        open?.stage = .calls
    }

    /// Ends the open message, and opens another one.
    private mutating func open(_ builder: MessageBuilder, at stage: Stage) {
        close()
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

    /// The texts of the parts of one type in a member, joined.
    private static func texts(
        of item: DoorMembers, _ name: String, _ type: String, in path: String
    ) throws(RelayError) -> String {
        var text = ""
        for (index, value) in (try item.array(name, in: path) ?? []).enumerated() {
            let path = "\(path)\(name)[\(index)]"
            guard let part = value.members(), try part.string("type", in: path + ".") == type else {
                throw .unsupported("\(path).type", "use \(type).")
            }
            text += try part.string("text", in: path + ".") ?? ""
        }
        return text
    }

    /// Adds a text, or parts with texts and images.
    private static func add(
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
            case "input_text", "output_text", "text": builder.text += try required(part, "text", in: path + ".")
            case "refusal": builder.text += try required(part, "refusal", in: path + ".")
            case "input_image": try add(image: part, to: &builder, in: path)
            default:
                throw .unsupported("\(path).type", "use input_text, output_text, refusal or input_image.")
            }
        }
    }

    private static func add(
        image part: DoorMembers, to builder: inout MessageBuilder, in path: String
    ) throws(RelayError) {
        try part.require(only: ["type", "image_url", "detail"], in: path + ".")
        if let detail = try part.string("detail", in: path + "."), detail != "auto" {
            throw .unsupported(path + ".detail", "model servers choose it.")
        }
        try builder.add(imageURL: try required(part, "image_url", in: path + "."), in: path + ".image_url")
    }
}
