import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The messages of `/v1/chat/completions`.
struct OpenAIMessages {
    /// The members of a message that have a meaning here. Those without an effect are not told: `provider_specific_fields` is where LiteLLM
    /// keeps what a server says beside an answer, model servers recognise what `cache_control` marks, and `id` names an answer.
    private static let members: Set<String> = [
        "role", "content", "name", "refusal", "reasoning_content", "reasoning", "reasoning_text", "images",
        "tool_calls", "tool_call_id", "function_call", "annotations", "provider_specific_fields", "cache_control", "id",
    ]

    /// The members of parts that have a meaning here, and the mark for a cache.
    private enum Parts {
        static let text: Set<String> = ["type", "text", "cache_control"]
        static let refusal: Set<String> = ["type", "refusal", "cache_control"]
        static let image: Set<String> = ["type", "image_url", "cache_control"]
        static let imageURL: Set<String> = ["url", "detail"]
        static let file: Set<String> = ["type", "file", "input_audio", "cache_control"]
    }

    /// The names of called tools by the ids of their calls: results of tools name only the call.
    private var tools: [ExactText: String] = [:]
    /// Whether the next message comes before the newest one of the user.
    private var isPast = false
    private var ignored: IgnoredMembers

    /// Adds `messages` to a request.
    static func translate(into draft: inout RequestDraft) throws(RelayError) {
        guard let list = try draft.body.array("messages", atMost: ChatRequest.maximumMessages) else {
            throw .invalid("messages is missing.", "messages")
        }
        guard !list.isEmpty else { throw .invalid("messages must not be empty.", "messages") }
        var messages = OpenAIMessages(ignored: draft.ignored)
        draft.messages.reserveCapacity(list.count)
        let newest = list.lastIndex { $0.last("role", .string)?.string == "user" } ?? 0
        for (index, value) in list.enumerated() {
            guard let message = value.members() else { throw .wrongType("messages[\(index)]", "an object") }
            messages.isPast = index < newest
            draft.messages.append(try messages.translate(message, in: "messages[\(index)]."))
        }
        draft.ignored = messages.ignored
    }

    private init(ignored: IgnoredMembers) {
        self.ignored = ignored
    }

    private mutating func translate(_ message: DoorMembers, in path: String) throws(RelayError) -> ModelMessage {
        try message.ignore(allBut: Self.members, in: path, as: &ignored)
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
        // Servers and clients have three names for it.
        for name in ["reasoning_content", "reasoning", "reasoning_text"] where builder.thinking.isEmpty {
            builder.thinking = try message.string(name, in: path) ?? ""
        }
        for (index, value) in (try message.array("images", in: path) ?? []).enumerated() {
            guard let image = value.string else { throw .wrongType("\(path)images[\(index)]", "a string") }
            try builder.add(imageURL: image, in: "\(path)images[\(index)]")
        }
        if let annotations = message["annotations"], annotations.elements()?.isEmpty != true {
            try ignored.add("\(path)annotations", "leave them out.")
        }
        if message["function_call"] != nil { throw .unsupported("\(path)function_call", "use tool_calls.") }
        try add(calls: message, to: &builder, in: path)
        let name = try message.string("name", in: path)
        if role == "tool" {
            builder.callID = try message.string("tool_call_id", in: path)
            builder.toolName = name ?? builder.callID.flatMap { tools[$0] }
        } else {
            builder.name = name
        }
        return builder.build()
    }

    private mutating func add(
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
            case "text":
                try part.ignore(allBut: Parts.text, in: path + ".", as: &ignored)
                builder.add(text: try part.string("text", in: path + ".") ?? "")
            case "refusal":
                try part.ignore(allBut: Parts.refusal, in: path + ".", as: &ignored)
                builder.add(text: try part.string("refusal", in: path + ".") ?? "")
            case "image_url": try add(image: part, to: &builder, in: path)
            case "file", "input_audio":
                try part.ignore(allBut: Parts.file, in: path + ".", as: &ignored)
                let name = try part.object("file", in: path + ".")?.string("filename", in: path + ".file.")
                builder.add(
                    text: try ignored.note(
                        ofFile: name, isPast: isPast, at: path, refusing: path + ".type", "use text or image_url."))
            default: throw .unsupported("\(path).type", "use text or image_url.")
            }
        }
    }

    private mutating func add(
        image part: DoorMembers, to builder: inout MessageBuilder, in path: String
    ) throws(RelayError) {
        try part.ignore(allBut: Parts.image, in: path + ".", as: &ignored)
        let path = path + ".image_url"
        if let url = part["image_url"]?.string {
            try builder.add(imageURL: url, in: path)
            return
        }
        guard let image = part["image_url"]?.members(), let url = try image.string("url", in: path + ".") else {
            throw .wrongType(path, "an object with url")
        }
        try image.ignore(allBut: Parts.imageURL, in: path + ".", as: &ignored)
        try ignored.add(detailOf: image, in: path + ".")
        try builder.add(imageURL: url, in: path + ".url")
    }

    private mutating func add(
        calls message: DoorMembers, to builder: inout MessageBuilder, in path: String
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

extension IgnoredMembers {
    /// Adds `detail` of an image, but its default: no model server has such a choice.
    mutating func add(detailOf image: DoorMembers, in path: String) throws(RelayError) {
        guard let detail = image["detail"], detail.string != "auto" else { return }
        try add(path + "detail", "model servers choose it.")
    }
}
