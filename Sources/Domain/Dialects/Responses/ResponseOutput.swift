import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The output of a response: the lists of the tools of servers; in each round the reasoning, the text and the calls of tools of the server; then an item
/// for each call of a tool of the client. Each is there only if there is any.
struct ResponseOutput {
    /// What the model said in a round, and its calls of tools of servers.
    struct Round {
        /// The inside of the JSON string of the reasoning.
        var thinking = ByteBuffer()
        /// The inside of the JSON string of the text.
        var text = ByteBuffer()
        /// The bytes of both in UTF-8.
        var sizes = (thinking: 0, text: 0)
        /// Where the round ends in the answer; `nil` for the last one.
        fileprivate(set) var shape: StepRound?
        /// The calls; `nil` for one that is not known yet.
        fileprivate(set) var calls: [AnswerSteps.Call?] = []

        init() {}
    }

    /// The rounds; one at least. The last one has no calls of tools of the server.
    private(set) var rounds = [Round()]
    /// The calls of tools of the client, as JSON objects with commas between them.
    private(set) var toolCalls = ByteBuffer()
    /// Whether the output has the lists of the tools of servers, which come first.
    var hasLists = false
    /// The size of all parts, in bytes.
    private(set) var size = 0

    init() {}

    /// Creates an output from texts in UTF-8, which are cut where rounds end.
    init(thinking: Span<UInt8>, text: Span<UInt8>, toolCalls: Span<UInt8>, _ steps: [StepChange] = []) {
        hasLists = true
        for change in steps { take(change) }
        append(thinking, to: \.thinking, cutAt: \.thinkingEnd)
        append(text, to: \.text, cutAt: \.textEnd)
        append(toolCalls: toolCalls)
    }

    /// Takes a call that is new, or has another state.
    ///
    /// The calls of a round come in their order, after those of earlier rounds, and before the text of the next one.
    mutating func take(_ change: StepChange) {
        let (number, index) = (change.place.round, change.place.index)
        if number == rounds.count - 1, index < change.round.callCount {
            rounds[number].shape = change.round
            rounds[number].calls = Array(repeating: nil, count: change.round.callCount)
            rounds.append(Round())
        }
        guard rounds.indices.contains(number), rounds[number].calls.indices.contains(index) else { return }
        if let known = rounds[number].calls[index] { size -= known.size }
        size += change.call.size
        rounds[number].calls[index] = change.call
    }

    /// Appends a text in UTF-8 to a part of the rounds, cut where they end.
    private mutating func append(
        _ whole: Span<UInt8>, to part: WritableKeyPath<Round, ByteBuffer>, cutAt end: KeyPath<StepRound, Int>
    ) {
        var start = 0
        for index in rounds.indices where start < whole.count {
            let end = rounds[index].shape.map { min($0[keyPath: end], whole.count) } ?? whole.count
            guard end > start else { continue }
            rounds[index][keyPath: part].append(insideOf: whole.extracting(start..<end))
            start = end
        }
    }

    /// Appends the inside of a JSON string to the text of a round.
    ///
    /// - Parameter count: its bytes in UTF-8.
    mutating func append(text: Span<UInt8>, count: Int, toRound index: Int) {
        rounds[index].text.append(text)
        rounds[index].sizes.text += count
        size += text.count
    }

    /// Appends the inside of a JSON string to the reasoning of a round.
    ///
    /// - Parameter count: its bytes in UTF-8.
    mutating func append(thinking: Span<UInt8>, count: Int, toRound index: Int) {
        rounds[index].thinking.append(thinking)
        rounds[index].sizes.thinking += count
        size += thinking.count
    }

    /// Appends calls of tools of the client: JSON objects with commas between them.
    mutating func append(toolCalls calls: Span<UInt8>) {
        guard !calls.isEmpty else { return }
        if !toolCalls.isEmpty { toolCalls.append(",") }
        toolCalls.append(calls)
        size += calls.count
    }

    /// Calls `body` with each call of a tool of the client.
    func forEachCall(_ body: (borrowing AnswerToolCall) -> Void) {
        AnswerToolCall.forEach(of: toolCalls.bytes, body)
    }

    /// Appends the items of an answer that has ended, or is so far, as a JSON array.
    func append(to body: inout ByteBuffer, _ context: AnswerContext, _ end: ResponseEnd) {
        body.append("[")
        var isFirst = true
        forEachItem(context, end) { _, item in
            if !isFirst { body.append(",") }
            body.append(item)
            isFirst = false
        }
        body.append("]")
    }

    /// Calls `body` with the id and the JSON of each item.
    func forEachItem(_ context: AnswerContext, _ end: ResponseEnd, _ body: (Item, ByteBuffer) -> Void) {
        func add(_ item: Item, _ write: (inout ByteBuffer) -> Void) {
            var json = ByteBuffer()
            write(&json)
            body(item, json)
        }
        for index in context.servers.servers.indices where hasLists {
            add(.list(index)) { Self.append(list: index, context, hasTools: true, to: &$0) }
        }
        for (number, round) in rounds.enumerated() {
            if !round.thinking.isEmpty {
                add(.reasoning(number)) { Self.append(reasoning: round.thinking.bytes, in: number, context, to: &$0) }
            }
            if !round.text.isEmpty {
                let status = number == rounds.count - 1 ? end.messageStatus : "completed"
                add(.message(number)) {
                    Self.append(message: round.text.bytes, in: number, context, status: status, to: &$0)
                }
            }
            for (index, call) in round.calls.enumerated() {
                guard let call, let origin = call.origin else { continue }
                let place = StepPlace(round: number, index: index)
                add(.serverCall(place)) {
                    Self.append(call, origin, at: place, context, hasEnded: end.isOver, to: &$0)
                }
            }
        }
        let tools = toolCalls.isEmpty ? ToolTable() : context.tools
        var index = 0
        forEachCall { call in
            defer { index += 1 }
            if let origin = context.servers.asked(call) {
                add(.approvalRequest(index)) { Self.append(call, origin, at: index, context, to: &$0) }
                return
            }
            let tool = tools.tool(of: call)
            add(.call(index, isCustom: tool?.isCustom ?? false)) {
                Self.append(call, of: tool, at: index, context, status: "completed", to: &$0)
            }
        }
    }

    // MARK: - Items

    /// Appends an item with the list of the tools of a server.
    static func append(list index: Int, _ context: AnswerContext, hasTools: Bool, to body: inout ByteBuffer) {
        let server = context.servers.servers[index]
        body.append("{\"type\":\"mcp_list_tools\",\"id\":")
        append(idOf: .list(index), context, to: &body)
        body.append(",\"server_label\":")
        body.append(jsonString: server.label)
        body.append(",\"tools\":")
        if hasTools { body.append(server.tools) } else { body.append("[]") }
        body.append(",\"error\":null}")
    }

    /// Appends an item with a call of a tool of a server.
    ///
    /// - Parameters:
    ///   - hasEnded: whether the answer has ended: a call that has no end then is a failure.
    ///   - hasBegun: whether the item has its arguments.
    static func append(
        _ call: AnswerSteps.Call, _ origin: ToolOrigin, at place: StepPlace, _ context: AnswerContext,
        hasEnded: Bool, hasBegun: Bool = true, to body: inout ByteBuffer
    ) {
        body.append("{\"type\":\"mcp_call\",\"id\":")
        append(idOf: .serverCall(place), context, to: &body)
        body.append(",\"server_label\":")
        body.append(jsonString: origin.label)
        body.append(",\"name\":")
        body.append(jsonString: origin.name)
        body.append(",\"arguments\":")
        if hasBegun { body.append(jsonString: call.arguments.span) } else { body.append("\"\"") }
        body.append(",\"approval_request_id\":")
        if let id = call.id, id.utf8.starts(with: "mcpr_".utf8) {
            body.append(jsonString: id)
        } else {
            body.append("null")
        }
        body.append(",\"status\":\"")
        switch call.state {
        case .done where hasBegun:
            body.append("completed\",\"output\":")
            body.append(jsonString: call.result.span)
            body.append(",\"error\":null}")
        case _ where hasBegun && (hasEnded || call.state.isEnd):
            body.append("failed\",\"output\":null,\"error\":{\"type\":\"mcp_tool_execution_error\",\"content\":[")
            body.append("{\"type\":\"text\",\"text\":")
            body.append(jsonString: call.result.span)
            body.append("}]}}")
        default: body.append("in_progress\",\"output\":null,\"error\":null}")
        }
    }

    /// Appends an item with a call that waits for the client's approval.
    static func append(
        _ call: borrowing AnswerToolCall, _ origin: ToolOrigin, at index: Int, _ context: AnswerContext,
        to body: inout ByteBuffer
    ) {
        body.append("{\"type\":\"mcp_approval_request\",\"id\":")
        append(idOf: .approvalRequest(index), context, to: &body)
        body.append(",\"server_label\":")
        body.append(jsonString: origin.label)
        body.append(",\"name\":")
        body.append(jsonString: origin.name)
        body.append(",\"arguments\":")
        body.append(argumentsOf: call)
        body.append("}")
    }

    /// Appends an item with reasoning. Without any it has no content.
    static func append(
        reasoning: Span<UInt8>, in round: Int, _ context: AnswerContext, to body: inout ByteBuffer
    ) {
        body.append("{\"type\":\"reasoning\",\"id\":")
        append(idOf: .reasoning(round), context, to: &body)
        body.append(",\"summary\":[],\"content\":[")
        if !reasoning.isEmpty { append(reasoningPart: reasoning, to: &body) }
        body.append("]}")
    }

    /// Appends an item with a message. Without a text it has no content.
    static func append(
        message text: Span<UInt8>, in round: Int, _ context: AnswerContext, status: StaticString,
        to body: inout ByteBuffer
    ) {
        body.append("{\"type\":\"message\",\"id\":")
        append(idOf: .message(round), context, to: &body)
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
        /// The list of the tools of a server.
        case list(Int)
        /// The reasoning of a round.
        case reasoning(Int)
        /// The text of a round.
        case message(Int)
        /// A call of a tool of a server.
        case serverCall(StepPlace)
        /// A call of a tool of the client.
        case call(Int, isCustom: Bool)
        /// A call of a tool of a server that waits for the client's approval, counted with those of tools of the client.
        case approvalRequest(Int)

        /// The id of the item: that of the reply with the kind of the item, so that it is always the same.
        func id(in reply: ReplyID) -> String {
            switch self {
            case .list(let index): "mcpl_\(reply)_\(index)"
            case .reasoning(let round): round == 0 ? "rs_\(reply)" : "rs_\(reply)_\(round)"
            case .message(let round): round == 0 ? "msg_\(reply)" : "msg_\(reply)_\(round)"
            case .serverCall(let place): "mcp_\(reply)_\(place.round)_\(place.index)"
            case .approvalRequest(let index): "mcpr_\(reply)_\(index)"
            case .call(let index, let isCustom): "\(isCustom ? "ctc" : "fc")_\(reply)_\(index)"
            }
        }
    }

    /// Appends the id of an item as a JSON string.
    static func append(idOf item: Item, _ context: AnswerContext, to body: inout ByteBuffer) {
        body.append("\"")
        body.append(utf8: item.id(in: context.reply))
        body.append("\"")
    }
}

extension AnswerSteps.Call {
    /// The bytes that an item has of the call.
    fileprivate var size: Int { arguments.count + result.count }
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
        append(ByteBuffer(insideOf: text))
    }

    /// Creates the inside of the JSON string of a text.
    init(insideOf text: Span<UInt8>) {
        var string = ByteBuffer(capacity: text.count + 2)
        string.append(jsonString: text)
        self.init(capacity: string.count)
        append(string.bytes.extracting(1..<(string.count - 1)))
    }
}
