import ChatterdBasics
import ChatterdIdentity

extension ChatRequest {
    /// Decodes the body of a request to `/llmchat`, or to `/llmtools`, whose conversation keeps its tools, or to `/llmprep`, which needs no
    /// model.
    ///
    /// chatterd's own members are checked strictly; null counts as absent. Members for the model server are kept unchanged, but for tools
    /// that the conversation keeps.
    ///
    /// - Throws: the first problem that is found.
    public init(
        decoding body: Span<UInt8>, requiringModel: Bool = true, keepingTools: Bool = false, permitsKept: Bool = false
    ) throws(ChatRequestError) {
        let members = try RequestMembers(of: body, known: Self.ownMembers)
        if let range = members.value("appID", in: body) {
            appID = try Self.name("appID", body.extracting(range), upTo: Owner.maximumAppLength)
        }
        if let range = members.value("conversation", in: body) {
            conversation = try Self.name(
                "conversation", body.extracting(range), upTo: ConversationKey.maximumNameLength)
        }
        model = try Self.model(members.value("model", in: body), in: body, isRequired: requiringModel)
        messages = try Self.messages(members.value("messages", in: body), in: body)
        stream = true
        if let range = members.value("stream", in: body) {
            stream = try ChatRequestField("stream", body.extracting(range)).boolean()
        }
        if let range = members.value("parent", in: body) {
            parent = try ChatRequestField("parent", body.extracting(range)).string(upTo: Self.maximumParentLength)
        }
        if let range = members.value("on_disconnect", in: body) {
            onDisconnect = try ChatRequestField("on_disconnect", body.extracting(range)).disconnectPolicy()
        }
        if let range = members.value("on_interrupt", in: body) {
            onInterrupt = try ChatRequestField("on_interrupt", body.extracting(range)).interruptPolicy()
        }
        if let range = members.value("when_busy", in: body) {
            whenBusy = try ChatRequestField("when_busy", body.extracting(range)).busyPolicy()
        }
        if let range = members.value("queue_events", in: body) {
            queueEvents = try ChatRequestField("queue_events", body.extracting(range)).boolean()
        }
        if let range = members.value("step_events", in: body) {
            stepEvents = try ChatRequestField("step_events", body.extracting(range)).boolean()
        }
        passThrough = try Self.passThrough(members.others, in: body, permitsKept: permitsKept)
        if keepingTools { try takeTools() }
    }

    /// Checks the tools. The model server does not get an empty array, because some refuse it.
    private mutating func takeTools() throws(ChatRequestError) {
        guard let index = passThrough.firstIndex(where: { $0.key == Self.toolsName }) else { return }
        let tools = try ToolSchemas.decode(passThrough.remove(at: index).value)
        newTools = tools
        add(tools: tools)
    }

    /// Adds tools, as a JSON array, to the members for the model server, unless the array is empty.
    public mutating func add(tools: [UInt8]) {
        guard tools.count > 2 else { return }
        passThrough.append(RawMember(key: Self.toolsName, value: tools))
    }

    /// The members that are not for the model server.
    private static let ownMembers = [
        "appID", "conversation", "model", "messages", "stream", "parent", "on_disconnect", "on_interrupt", "when_busy",
        "queue_events", "step_events",
    ]

    /// The name of an app or of a conversation.
    static func name(
        _ member: ChatRequestFieldName, _ value: Span<UInt8>, upTo limit: Int
    ) throws(ChatRequestError) -> String {
        let field = ChatRequestField(member, value)
        let name = try field.string(upTo: limit)
        try field.requireNoControls(in: name)
        return name
    }

    private static func model(
        _ range: Range<Int>?, in body: Span<UInt8>, isRequired: Bool
    ) throws(ChatRequestError) -> String {
        guard let range else {
            if isRequired { throw .missing("model") }
            return ""
        }
        // An empty string counts as absent if the model is optional.
        if !isRequired, range.count == 2, body[range.lowerBound] == UInt8(ascii: "\"") { return "" }
        return try ChatRequestField("model", body.extracting(range)).name(upTo: ModelName.maximumLength)
    }

    /// Decodes an array of messages.
    public static func messages(decoding array: Span<UInt8>) throws(ChatRequestError) -> [ModelMessage] {
        try messages(0..<array.count, in: array)
    }

    /// The messages in the array at `range`.
    static func messages(_ range: Range<Int>?, in body: Span<UInt8>) throws(ChatRequestError) -> [ModelMessage] {
        guard let range else { throw .missing("messages") }
        try ChatRequestField("messages", body.extracting(range)).require(.array, "an array")
        var elements: [Range<Int>] = []
        do {
            var reader = JSONReader(body, at: range.lowerBound)
            try reader.beginArray()
            while elements.count <= maximumMessages, try reader.nextElement() {
                elements.append(try reader.skipValue())
            }
        } catch {
            throw .notJSON(error)
        }
        if elements.isEmpty { throw .empty("messages") }
        guard elements.count <= maximumMessages else { throw .tooMany("messages", limit: maximumMessages) }
        var messages: [ModelMessage] = []
        messages.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            messages.append(try ModelMessage(decoding: body.extracting(element), at: index))
        }
        return messages
    }

    private static func passThrough(
        _ members: [(key: JSONString, value: Range<Int>)], in body: Span<UInt8>, permitsKept: Bool
    ) throws(ChatRequestError) -> [RawMember] {
        guard members.count <= maximumPassThrough else {
            throw ChatRequestError(
                problem: .tooMany, field: nil,
                message: "The body has more than \(maximumPassThrough) members for the model.")
        }
        var result: [RawMember] = []
        for (key, value) in members {
            let name = try memberName(key, in: body, .ofRequest, of: "The body")
            if name == "options" {
                try checkOptions(body.extracting(value))
            }
            let member = RawMember(key: name, value: ChatRequestField("", body.extracting(value)).json)
            guard permitsKept || !member.isKept else { throw .reserved(name) }
            // Of two equal names the last one counts.
            result.removeAll { $0.key == member.key }
            result.append(member)
        }
        return result
    }

    /// Checks the names of members for the model server, and of their `options`.
    ///
    /// - Throws: the first problem: too many members, a name that is too long, or one that differs from a known name in case only.
    public static func checkNames(of members: [RawMember]) throws(ChatRequestError) {
        guard members.count <= maximumPassThrough else {
            throw ChatRequestError(
                problem: .tooMany, field: nil,
                message: "The body has more than \(maximumPassThrough) members for the model.")
        }
        for member in members {
            guard member.key.utf8.count <= MemberNames.maximumLength else { throw .memberNameTooLong(in: "The body") }
            guard !member.isKept else { throw .reserved(member.key) }
            if let meant = MemberNames.ofRequest.misspelled(member.key) {
                throw .misspelled(meant, in: "The body")
            }
            if member.key == "options" {
                try checkOptions(member.value.span)
            }
        }
    }

    /// Checks the size of `options` and the names of its members. The model server refuses a value that is not an object.
    private static func checkOptions(_ options: Span<UInt8>) throws(ChatRequestError) {
        // Each request to a model server reads them several times.
        guard options.count <= maximumOptionsSize else {
            throw .tooManyBytes("options", count: options.count, limit: maximumOptionsSize)
        }
        var keys: [JSONString] = []
        do {
            var reader = JSONReader(options)
            guard try reader.kind() == .object else { return }
            try reader.beginObject()
            while keys.count <= maximumOptions, let key = try reader.nextKey() {
                keys.append(key)
                try reader.skipValue()
            }
        } catch {
            throw .notJSON(error)
        }
        guard keys.count <= maximumOptions else {
            throw ChatRequestError(
                problem: .tooMany, field: "options", message: "options has more than \(maximumOptions) members.")
        }
        for key in keys {
            _ = try memberName(key, in: options, .ofOptions, of: "options")
        }
    }

    private static func memberName(
        _ key: JSONString, in body: Span<UInt8>, _ known: MemberNames, of object: String
    ) throws(ChatRequestError) -> String {
        // JSON writes one byte with six bytes at most.
        guard key.range.count <= 6 * MemberNames.maximumLength else { throw .memberNameTooLong(in: object) }
        let name = String(decodingJSON: body.extracting(key.range))
        guard name.utf8.count <= MemberNames.maximumLength else { throw .memberNameTooLong(in: object) }
        if let meant = known.misspelled(name) { throw .misspelled(meant, in: object) }
        return name
    }
}
