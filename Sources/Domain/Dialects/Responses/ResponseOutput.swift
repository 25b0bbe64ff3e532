import ChatterdBasics
import ChatterdRelay

/// The output of a response: an item with the reasoning, one with the text, and one for each call of a tool, each if there is any.
struct ResponseOutput {
    /// The inside of the JSON string of the reasoning.
    var thinking = ByteBuffer()
    /// The inside of the JSON string of the text.
    var text = ByteBuffer()
    /// The calls of tools, as JSON objects with commas between them.
    var toolCalls = ByteBuffer()

    init() {}

    /// Creates an output from texts in UTF-8.
    init(thinking: Span<UInt8>, text: Span<UInt8>, toolCalls: Span<UInt8>) {
        self.thinking.append(insideOf: thinking)
        self.text.append(insideOf: text)
        self.toolCalls.append(toolCalls)
    }

    /// The size of all parts, in bytes.
    var size: Int { thinking.count + text.count + toolCalls.count }

    /// Calls `body` with each call of a tool.
    func forEachCall(_ body: (borrowing AnswerToolCall) -> Void) {
        AnswerToolCall.forEach(of: toolCalls.bytes, body)
    }

    /// Appends the items of an answer that has ended, or is so far, as a JSON array.
    func append(to body: inout ByteBuffer, _ context: AnswerContext, status: StaticString) {
        body.append("[")
        if !thinking.isEmpty {
            Self.append(reasoning: thinking.bytes, context, to: &body)
        }
        if !text.isEmpty {
            if !thinking.isEmpty { body.append(",") }
            Self.append(message: text.bytes, context, status: status, to: &body)
        }
        var (index, needsComma) = (0, !thinking.isEmpty || !text.isEmpty)
        var items = ByteBuffer()
        let tools = toolCalls.isEmpty ? ToolTable() : context.tools
        forEachCall { call in
            if needsComma { items.append(",") }
            Self.append(call, of: tools.tool(of: call), at: index, context, status: "completed", to: &items)
            (index, needsComma) = (index + 1, true)
        }
        body.append(items)
        body.append("]")
    }

    // MARK: - Items

    /// Appends an item with reasoning. Without any it has no content.
    static func append(reasoning: Span<UInt8>, _ context: AnswerContext, to body: inout ByteBuffer) {
        body.append("{\"type\":\"reasoning\",\"id\":")
        append(idOf: .reasoning, context, to: &body)
        body.append(",\"summary\":[],\"content\":[")
        if !reasoning.isEmpty { append(reasoningPart: reasoning, to: &body) }
        body.append("]}")
    }

    /// Appends an item with a message. Without a text it has no content.
    static func append(
        message text: Span<UInt8>, _ context: AnswerContext, status: StaticString, to body: inout ByteBuffer
    ) {
        body.append("{\"type\":\"message\",\"id\":")
        append(idOf: .message, context, to: &body)
        body.append(",\"status\":\"")
        body.append(status)
        body.append("\",\"role\":\"assistant\",\"content\":[")
        if !text.isEmpty { append(textPart: text, to: &body) }
        body.append("]}")
    }

    /// Appends an item with a call of a tool; `nil` is a function that the request does not have.
    static func append(
        _ call: borrowing AnswerToolCall, of tool: ToolTable.Tool?, at index: Int, _ context: AnswerContext,
        status: StaticString, hasArguments: Bool = true, to body: inout ByteBuffer
    ) {
        let isCustom = tool?.isCustom ?? false
        body.append(isCustom ? "{\"type\":\"custom_tool_call\",\"id\":" : "{\"type\":\"function_call\",\"id\":")
        append(idOf: .call(index, isCustom: isCustom), context, to: &body)
        body.append(",\"call_id\":")
        body.append(idOf: call, at: index, in: context)
        body.append(nameOf: call, tool)
        body.append(isCustom ? ",\"input\":" : ",\"arguments\":")
        switch (hasArguments, isCustom) {
        case (false, _): body.append("\"\"")
        case (true, false): body.append(argumentsOf: call)
        case (true, true): body.append(customInputOf: call)
        }
        body.append(",\"status\":\"")
        body.append(status)
        body.append("\"}")
    }

    /// Appends the part of a reasoning item.
    static func append(reasoningPart text: Span<UInt8>, to body: inout ByteBuffer) {
        body.append("{\"type\":\"reasoning_text\",\"text\":")
        body.append(inside: text)
        body.append("}")
    }

    /// Appends the part of a message.
    static func append(textPart text: Span<UInt8>, to body: inout ByteBuffer) {
        body.append("{\"type\":\"output_text\",\"text\":")
        body.append(inside: text)
        body.append(",\"annotations\":[],\"logprobs\":[]}")
    }

    /// An item of an answer.
    enum Item {
        case reasoning
        case message
        case call(Int, isCustom: Bool)
    }

    /// Appends the id of an item as a JSON string: that of the reply with the kind of the item, so that it is always the same.
    static func append(idOf item: Item, _ context: AnswerContext, to body: inout ByteBuffer) {
        switch item {
        case .reasoning: body.append("\"rs_")
        case .message: body.append("\"msg_")
        case .call(_, let isCustom): body.append(isCustom ? "\"ctc_" : "\"fc_")
        }
        body.append(utf8: context.reply.description)
        if case .call(let index, _) = item {
            body.append("_")
            body.append(decimal: index)
        }
        body.append("\"")
    }
}

extension ByteBuffer {
    /// Appends the name of a called tool, with its namespace, as members of JSON that follow others.
    mutating func append(nameOf call: borrowing AnswerToolCall, _ tool: ToolTable.Tool?) {
        if let namespace = tool?.namespace {
            append(",\"namespace\":")
            append(jsonString: namespace)
        }
        append(",\"name\":")
        if let tool { append(jsonString: tool.name) } else { append(inside: call.name) }
    }

    /// Appends the inside of the JSON string of a text.
    fileprivate mutating func append(insideOf text: Span<UInt8>) {
        var string = ByteBuffer(capacity: text.count + 2)
        string.append(jsonString: text)
        append(string.bytes.extracting(1..<(string.count - 1)))
    }
}
