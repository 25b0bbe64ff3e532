import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// Messages of a conversation as items, in order.
public struct ItemList: Sendable {
    /// A page that a client asks for.
    public struct Page: Sendable {
        /// The limit of items.
        public static let maximumLimit = 100

        /// The number of items at most.
        public var limit = 20
        /// Whether the oldest item comes first.
        public var isAscending = false
        /// The id of the item before the page; `nil` for the first page.
        public var after: String?

        public init() {}
    }

    private var items: [(id: String, json: [UInt8])] = []

    /// Creates the list of the items of rows in order. The request of a reply has the tools of its calls, and of those in its prompts.
    ///
    /// - Parameter kept: what was kept with the request of the rows that no reply follows, as a JSON object; `nil` if nothing was.
    public init(_ rows: [ConversationRow], kept: [UInt8]? = nil) {
        var open: [ConversationRow] = []
        for row in rows {
            open.append(row)
            guard case .reply(let reply) = row.kind else { continue }
            append(open, optionsOf: reply)
            open = []
        }
        append(open, kept: kept)
    }

    /// Adds the items of a turn.
    private mutating func append(_ rows: [ConversationRow], optionsOf reply: ConversationRow.Reply) {
        let members = (try? [RawMember](decodingMembers: reply.options)) ?? []
        append(rows, kept: members.kept, ResponseServers(of: members))
    }

    private mutating func append(
        _ rows: [ConversationRow], kept: [UInt8]?, _ servers: ResponseServers = ResponseServers()
    ) {
        let tools = rows.contains { !$0.extras.isEmpty } ? ToolTable(keptIn: kept) : ToolTable()
        for row in rows {
            if appendRounds(of: row, kept: kept, servers) { continue }
            // The id of a call outside of turns stays the same, whatever request follows it.
            if case .message = row.kind { append(row, ToolTable()) } else { append(row, tools) }
        }
    }

    /// Adds the items of a row with calls of tools of servers.
    ///
    /// - Returns: whether the row has such calls.
    private mutating func appendRounds(
        of row: ConversationRow, kept: [UInt8]?, _ servers: ResponseServers
    ) -> Bool {
        let steps = AnswerSteps(in: row.extras.span) ?? AnswerSteps()
        var isOfResponse = steps.rounds.contains { $0.calls.contains { $0.origin != nil } }
        if case .reply = row.kind { isOfResponse = isOfResponse || !servers.isEmpty }
        guard isOfResponse else { return false }
        var (id, end) = (row.id, ResponseEnd.completed)
        var isReply = false
        if case .reply(let reply) = row.kind {
            (id, isReply) = (reply.id, true)
            end = reply.state == nil ? .inProgress : reply.state == .complete ? .completed : .incomplete
        }
        guard let id else { return false }
        var context = AnswerContext(reply: id, model: "", createdAt: 0)
        if isReply { context.servers = servers }
        if case .message = row.kind {} else { context.kept = kept }
        let thinking = row.thinking.isEmpty ? Array((row.members?["thinking"]?.string ?? "").utf8) : row.thinking
        var known = KnownSteps()
        let calls = Array(
            row.calls(in: row.members).map(\.bytes).joined(separator: [UInt8(ascii: ",")]))
        let output = ResponseOutput(
            thinking: thinking.span, text: row.content.span,
            toolCalls: calls.span, known.take(steps))
        output.forEachItem(context, end) { [reply = id] item, json in items.append((item.id(in: reply), json.array)) }
        return true
    }

    /// Adds the items of a row: the reasoning, the message, the calls of tools or the result of one.
    private mutating func append(_ row: ConversationRow, _ tools: ToolTable) {
        let members = row.members
        let role = String(decoding: row.role, as: UTF8.self)
        var (name, status) = (row.id?.description ?? "\(row.seq)", "completed")
        if case .reply(let reply) = row.kind {
            name = reply.id.description
            status = reply.state == nil ? "in_progress" : reply.state == .complete ? "completed" : "incomplete"
        }
        if role == "tool" {
            let tool = members?["tool_name"]?.string.flatMap { tools.tool(called: $0) }
            appendResult(row.content, of: members?["tool_call_id"]?.string ?? "", tool, name)
            return
        }
        var hasReasoning = true
        if !row.thinking.isEmpty {
            appendReasoning(row.thinking.span, name)
        } else if let thinking = members?["thinking"]?.string {
            appendReasoning(thinking.utf8.span, name)
        } else {
            hasReasoning = false
        }
        let calls = row.calls(in: members)
        let images = members?["images"]?.elements() ?? []
        if !row.content.isEmpty || !images.isEmpty || calls.isEmpty && !hasReasoning {
            appendMessage(row, role, images.compactMap(\.string), status, name)
        }
        for (index, call) in calls.enumerated() {
            appendCall(call, at: index, tools, name)
        }
    }

    private mutating func appendReasoning(_ text: Span<UInt8>, _ name: String) {
        var json = ByteBuffer()
        json.append("{\"type\":\"reasoning\",\"id\":\"rs_")
        json.append(utf8: name)
        json.append("\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":")
        json.append(jsonString: text)
        json.append("}]}")
        items.append(("rs_" + name, json.array))
    }

    private mutating func appendMessage(
        _ row: ConversationRow, _ role: String, _ images: [String], _ status: String, _ name: String
    ) {
        let id = "msg_" + name
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("type", "message")
                json.member("id", id)
                json.member("status", status)
                json.member("role", role)
                json.array("content") { json in
                    if !row.content.isEmpty || images.isEmpty {
                        json.object { part in
                            part.member("type", role == "assistant" ? "output_text" : "input_text")
                            part.name("text")
                            part.string(row.content.span)
                            if role == "assistant" {
                                part.array("annotations") { _ in }
                                part.array("logprobs") { _ in }
                            }
                        }
                    }
                    for image in images {
                        json.object { part in
                            part.member("type", "input_image")
                            part.member("image_url", Self.url(ofImage: image))
                            part.member("detail", "auto")
                        }
                    }
                }
            }
        }
        items.append((id, body.array))
    }

    private mutating func appendCall(_ call: JSONSlice, at index: Int, _ tools: ToolTable, _ name: String) {
        AnswerToolCall.forEach(in: (Array("[".utf8) + call.json + Array("]".utf8)).span) { call in
            let tool = tools.tool(of: call)
            let isCustom = tool?.isCustom ?? false
            let id = "\(isCustom ? "ctc" : "fc")_\(name)_\(index)"
            var body = ByteBuffer()
            body.append(isCustom ? "{\"type\":\"custom_tool_call\",\"id\":" : "{\"type\":\"function_call\",\"id\":")
            body.append(jsonString: id)
            body.append(",\"call_id\":")
            if call.id.isEmpty {
                body.append(jsonString: "call_\(name)_\(index)")
            } else {
                body.append(inside: call.id)
            }
            body.append(nameOf: call, tool)
            body.append(isCustom ? ",\"input\":" : ",\"arguments\":")
            if isCustom { body.append(customInputOf: call) } else { body.append(argumentsOf: call) }
            body.append(",\"status\":\"completed\"}")
            items.append((id, body.array))
        }
    }

    private mutating func appendResult(_ text: [UInt8], of call: String, _ tool: ToolTable.Tool?, _ name: String) {
        let isCustom = tool?.isCustom ?? false
        let id = (isCustom ? "ctco_" : "fco_") + name
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("type", isCustom ? "custom_tool_call_output" : "function_call_output")
                json.member("id", id)
                json.member("call_id", call)
                json.name("output")
                json.string(text.span)
                json.member("status", "completed")
            }
        }
        items.append((id, body.array))
    }

    /// The URL of a stored image, which is a URL or Base64. The first bytes of a file say its type.
    private static func url(ofImage image: String) -> String {
        guard !image.hasPrefix("http:"), !image.hasPrefix("https:") else { return image }
        let types = [("/9j/", "jpeg"), ("R0lG", "gif"), ("UklG", "webp")]
        let type = types.first { image.hasPrefix($0.0) }?.1 ?? "png"
        return "data:image/\(type);base64,\(image)"
    }

    // MARK: - The last item

    /// The last item of a row, and the row without it.
    public struct Last: Sendable {
        public let id: String
        /// `nil` if the row has no other item.
        public let rest: ConversationRow?

        /// Finds the last item of a row.
        public init?(of row: ConversationRow) {
            let items = ItemList([row]).items
            guard let last = items.last else { return nil }
            id = last.id
            rest = items.count > 1 ? row.withoutLastItem : nil
        }
    }

    // MARK: - Pages

    /// Appends a page as a list.
    ///
    /// - Returns: whether the item before the page exists.
    public func append(_ page: Page, to body: inout ByteBuffer) -> Bool {
        let ordered = page.isAscending ? items : items.reversed()
        var first = 0
        if let after = page.after {
            guard let index = ordered.firstIndex(where: { $0.id == after }) else { return false }
            first = index + 1
        }
        let shown = ordered[first...].prefix(page.limit)
        let hasMore = first + shown.count < ordered.count
        body.appendJSON { json in
            json.object { json in
                json.member("object", "list")
                json.array("data") { json in for item in shown { json.raw(item.json.span) } }
                json.member("first_id", orNull: shown.first?.id)
                json.member("last_id", orNull: shown.last?.id)
                json.member("has_more", hasMore)
            }
        }
        return true
    }

    /// Appends all items as a list, in their order.
    public func append(to body: inout ByteBuffer) {
        var page = Page()
        (page.limit, page.isAscending) = (Int.max, true)
        _ = append(page, to: &body)
    }

    /// Whether an item has an id.
    public func contains(_ id: String) -> Bool { items.contains { $0.id == id } }

    /// Appends the item with an id.
    ///
    /// - Returns: whether it exists.
    public func append(item id: String, to body: inout ByteBuffer) -> Bool {
        guard let item = items.first(where: { $0.id == id }) else { return false }
        body.append(item.json)
        return true
    }
}

extension ConversationRow {
    /// The further members of the message.
    fileprivate var members: DoorMembers? {
        try? JSONSlice(Array("{".utf8) + extras + Array("}".utf8)).members()
    }

    /// The calls of tools among the further members.
    fileprivate func calls(in members: DoorMembers?) -> [JSONSlice] {
        members?["tool_calls"]?.elements(atMost: ChatRequest.maximumMessages) ?? []
    }

    /// The row without its last item, which is not its only one: a call of a tool, or the message behind the reasoning.
    fileprivate var withoutLastItem: ConversationRow {
        let members = members
        if let steps = AnswerSteps(in: extras.span), AnswerSteps.callsAfterSteps(in: extras.span).isEmpty {
            return withoutLastItem(of: steps, members)
        }
        let calls = calls(in: members).dropLast()
        let isMessage = self.calls(in: members).isEmpty
        var rest = self
        if isMessage { rest.content = [] }
        var extras = ByteBuffer()
        for name in members?.names ?? [] {
            guard let value = members?[name], !isMessage || name != "images" else { continue }
            if name == "tool_calls", calls.isEmpty { continue }
            if !extras.isEmpty { extras.append(",") }
            extras.append(jsonString: name)
            extras.append(":")
            guard name == "tool_calls" else {
                extras.append(value.json)
                continue
            }
            extras.appendJSON { json in
                json.array { array in
                    for call in calls { array.raw(call.json.span) }
                }
            }
        }
        rest.extras = extras.array
        return rest
    }

    /// The row without the last item of an answer with steps: its message, its reasoning, or the last call of a tool of a server.
    private func withoutLastItem(of steps: AnswerSteps, _ members: DoorMembers?) -> ConversationRow {
        var (steps, rest) = (steps, self)
        var thinking = Array((members?["thinking"]?.string ?? "").utf8)
        let said = steps.rounds.reduce(into: (text: 0, thinking: 0)) { size, round in
            size.text += round.text.count
            size.thinking += round.thinking.count
        }
        if content.count > said.text {
            rest.content = Array(content.prefix(said.text))
        } else if thinking.count > said.thinking {
            thinking = Array(thinking.prefix(said.thinking))
        } else if var round = steps.rounds.popLast() {
            round.calls.removeLast()
            if !round.calls.isEmpty { steps.rounds.append(round) }
        }
        var extras = ByteBuffer()
        if !steps.rounds.isEmpty { extras.append(steps.member) }
        if !thinking.isEmpty {
            if !extras.isEmpty { extras.append(",") }
            extras.append("\"thinking\":")
            extras.append(jsonString: thinking.span)
        }
        rest.extras = extras.array
        return rest
    }
}
