import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The system texts, messages and blocks of `/v1/messages`.
struct AnthropicContent {
    /// Types of blocks that only Anthropic's models read: they are encrypted, or name what Anthropic ran.
    private static let foreign = [
        "redacted_thinking", "server_tool_use", "web_search_tool_result", "tool_search_tool_result",
    ]

    /// The members of blocks that chatterd reads, or that have no effect anywhere: model servers recognise what `cache_control` marks.
    private enum Members {
        static let thinking: Set<String> = ["type", "cache_control", "thinking", "signature"]
        static let text: Set<String> = ["type", "cache_control", "text", "citations"]
        static let document: Set<String> = ["type", "cache_control", "title", "context", "source", "content"]
        static let image: Set<String> = ["type", "cache_control", "source"]
        static let source: Set<String> = ["type", "media_type", "data", "url", "file_id", "content"]
        static let reference: Set<String> = ["type", "cache_control", "tool_name"]
        static let call: Set<String> = ["type", "cache_control", "id", "name", "input", "caller"]
        /// The text of a result says what failed.
        static let result: Set<String> = ["type", "cache_control", "tool_use_id", "content", "is_error"]
    }

    /// The names of called tools by the ids of their calls: results of tools name only the call.
    private var tools: [ExactText: String] = [:]
    /// Whether the next message comes before the newest one of the user.
    private var isPast = false
    private var ignored: IgnoredMembers

    /// Adds `system` and `messages` to a request.
    static func translate(into draft: inout RequestDraft) throws(RelayError) {
        var content = AnthropicContent(ignored: draft.ignored)
        if let system = draft.body["system"] {
            let text = try content.text(of: system, at: "system", isVolatile: true)
            if !text.isEmpty { draft.messages.append(ModelMessage(role: "system", content: text)) }
        }
        draft.messages += try content.messages(draft.body)
        draft.ignored = content.ignored
    }

    private init(ignored: IgnoredMembers) {
        self.ignored = ignored
    }

    /// Translates `messages`. A message with results of tools becomes one message for each of them.
    private mutating func messages(_ body: DoorMembers) throws(RelayError) -> [ModelMessage] {
        guard let list = try body.array("messages", atMost: ChatRequest.maximumMessages) else {
            throw .invalid("messages: Field required", "messages")
        }
        guard !list.isEmpty else { throw .invalid("messages: at least one message is required", "messages") }
        var messages: [ModelMessage] = []
        let newest = list.lastIndex { $0.last("role", .string)?.string == "user" } ?? 0
        for (index, value) in list.enumerated() {
            let path = "messages[\(index)]"
            guard let message = value.members() else { throw .wrongType(path, "an object") }
            isPast = index < newest
            try message.ignore(allBut: ["role", "content"], in: path + ".", as: &ignored)
            guard let content = message["content"] else {
                throw .invalid("\(path).content: Field required", "\(path).content")
            }
            switch try message.string("role", in: path + ".") {
            case "system":
                messages.append(
                    ModelMessage(role: "system", content: try text(of: content, at: "\(path).content")))
            case let role? where ["user", "assistant"].contains(role):
                messages += try translate(content, by: role, at: "\(path).content")
            default: throw .unsupported("\(path).role", "use user, assistant or system.")
            }
        }
        return messages
    }

    private mutating func translate(
        _ content: JSONSlice, by role: String, at path: String
    ) throws(RelayError) -> [ModelMessage] {
        if let text = content.string { return [ModelMessage(role: role, content: text)] }
        guard let blocks = content.elements() else { throw .wrongType(path, "a string or an array of blocks") }
        var results: [ModelMessage] = []
        var builder = MessageBuilder(role)
        for (index, value) in blocks.enumerated() {
            let path = "\(path)[\(index)]"
            guard let block = value.members() else { throw .wrongType(path, "an object") }
            switch try block.string("type", in: path + ".") {
            case "thinking":
                try block.ignore(allBut: Members.thinking, in: path + ".", as: &ignored)
                builder.thinking += try block.string("thinking", in: path + ".") ?? ""
            case "tool_use": try add(call: block, to: &builder, at: path)
            case "tool_result": results.append(try result(block, at: path))
            case let type: try add(block, of: type, to: &builder, at: path)
            }
        }
        return builder.isEmpty && !results.isEmpty ? results : results + [builder.build()]
    }

    /// Adds a block that a result of a tool may have as well.
    private mutating func add(
        _ block: DoorMembers, of type: String?, to builder: inout MessageBuilder, at path: String
    ) throws(RelayError) {
        switch type {
        case "text": builder.add(text: try text(in: block, at: path))
        case "image": try add(image: block, to: &builder, at: path)
        case "document", "search_result": builder.add(text: try document(block, at: path))
        case "tool_reference":
            try block.ignore(allBut: Members.reference, in: path + ".", as: &ignored)
            builder.add(text: try block.string("tool_name", in: path + ".") ?? "")
        case let type? where Self.foreign.contains(type):
            try ignored.add(path, "only Anthropic's models read a block of the type \(type).")
        default:
            throw .unsupported("\(path).type", "use text, image, document, thinking, tool_use or tool_result.")
        }
    }

    private mutating func text(in block: DoorMembers, at path: String) throws(RelayError) -> String {
        try block.ignore(allBut: Members.text, in: path + ".", as: &ignored)
        if let citations = block["citations"], citations.elements()?.isEmpty != true {
            try ignored.add("\(path).citations", "leave them out.")
        }
        return try block.string("text", in: path + ".") ?? ""
    }

    /// The text of a string or of blocks of text.
    ///
    /// - Parameter isVolatile: whether a text may be Claude Code's line of billing.
    private mutating func text(
        of value: JSONSlice, at path: String, isVolatile: Bool = false
    ) throws(RelayError) -> String {
        func stable(_ text: String) -> String {
            isVolatile && ignored.policy == .lenient ? BillingLine.stable(text) : text
        }
        if let text = value.string { return stable(text) }
        guard let blocks = value.elements() else { throw .wrongType(path, "a string or an array of blocks") }
        var builder = MessageBuilder("system")
        for (index, value) in blocks.enumerated() {
            let path = "\(path)[\(index)]"
            guard let block = value.members() else { throw .wrongType(path, "an object") }
            guard try block.string("type", in: path + ".") == "text" else {
                throw .unsupported("\(path).type", "use text here.")
            }
            let text = try text(in: block, at: path)
            builder.add(text: stable(text))
        }
        return builder.text
    }

    /// The text of a document or of a result of a search, behind its title.
    private mutating func document(_ block: DoorMembers, at path: String) throws(RelayError) -> String {
        try block.ignore(allBut: Members.document, in: path + ".", as: &ignored)
        var builder = MessageBuilder("user")
        for name in ["title", "context"] {
            builder.add(text: try block.string(name, in: path + ".") ?? "")
        }
        // A result of a search has its blocks in `content`, and its address in `source`.
        if let content = block["content"] {
            builder.add(text: try text(of: content, at: path + ".content"))
            return builder.text
        }
        let path = path + ".source"
        guard let source = block["source"]?.members() else { throw .wrongType(path, "an object") }
        try source.ignore(allBut: Members.source, in: path + ".", as: &ignored)
        switch try source.string("type", in: path + ".") {
        case "text": builder.add(text: try source.string("data", in: path + ".") ?? "")
        case "content":
            guard let content = source["content"] else { throw .wrongType(path + ".content", "a string or blocks") }
            builder.add(text: try text(of: content, at: path + ".content"))
        default:
            builder.add(
                text: try ignored.note(
                    ofFile: nil, isPast: isPast, at: String(path.dropLast(".source".count)),
                    refusing: path + ".type", "send the text of the document, with the type text."))
        }
        return builder.text
    }

    private mutating func add(
        image block: DoorMembers, to builder: inout MessageBuilder, at path: String
    ) throws(RelayError) {
        try block.ignore(allBut: Members.image, in: path + ".", as: &ignored)
        let path = path + ".source."
        guard let source = block["source"]?.members() else { throw .wrongType(path + "type", "base64 or url") }
        try source.ignore(allBut: Members.source, in: path, as: &ignored)
        switch try source.string("type", in: path) {
        case "base64": builder.add(image: try source.string("data", in: path) ?? "")
        case "url": try builder.add(imageURL: try source.string("url", in: path) ?? "", in: path + "url")
        default:
            builder.add(
                text: try ignored.note(
                    ofFile: nil, isPast: isPast, at: String(path.dropLast(".source.".count)),
                    refusing: path + "type", "use base64 or url."))
        }
    }

    private mutating func add(
        call block: DoorMembers, to builder: inout MessageBuilder, at path: String
    ) throws(RelayError) {
        try block.ignore(allBut: Members.call, in: path + ".", as: &ignored)
        guard let name = try block.string("name", in: path + ".") else {
            throw .invalid("\(path).name: Field required", "\(path).name")
        }
        let id = try block.string("id", in: path + ".")
        if let id { tools[id] = name }
        builder.add(call: id, name: name, arguments: block["input"]?.json ?? Array("{}".utf8))
    }

    private mutating func result(_ block: DoorMembers, at path: String) throws(RelayError) -> ModelMessage {
        try block.ignore(allBut: Members.result, in: path + ".", as: &ignored)
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
            try add(part, of: try part.string("type", in: path + "."), to: &builder, at: path)
        }
        return builder.build()
    }
}

/// The line with which Claude Code begins its system text, such as `x-anthropic-billing-header: cc_version=2.1; cch=36ee5;`.
enum BillingLine {
    /// The text with zeros in the place of the value of `cch`. It differs in each request, so no model server would recognise the prompt that it
    /// has read before.
    static func stable(_ text: String) -> String {
        guard text.hasPrefix("x-anthropic-billing-header:") else { return text }
        let line = text.utf8.firstIndex(of: UInt8(ascii: "\n")) ?? text.utf8.endIndex
        let name = Array(" cch=".utf8)
        var bytes = Array(text.utf8[..<line])
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: name) }) else { return text }
        for index in bytes.indices.dropFirst(start + name.count) {
            guard bytes[index] != UInt8(ascii: ";") else { break }
            bytes[index] = UInt8(ascii: "0")
        }
        return String(decoding: bytes, as: UTF8.self) + text[line...]
    }
}
