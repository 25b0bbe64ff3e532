import ChatterdBasics

extension ModelMessage {
    /// Decodes one element of `messages`.
    init(decoding text: Span<UInt8>, at index: Int) throws(ChatRequestError) {
        try ChatRequestField(ChatRequestFieldName(message: index), text).require(.object, "an object")
        let members: MessageMembers
        do {
            members = try MessageMembers(of: text)
        } catch {
            throw .notJSON(error)
        }
        guard let range = members.role else { throw .missing(ChatRequestFieldName(message: index, "role")) }
        role = try ChatRequestField(ChatRequestFieldName(message: index, "role"), text.extracting(range))
            .string(upTo: ChatRequest.maximumRoleLength)
        content = try Self.content(members, in: text, at: index)
        guard role != "user" || members.hasContentBesideText || !content.isBlank else {
            throw .blank(ChatRequestFieldName(message: index, "content"))
        }
        extras = try Self.extras(members, in: text, at: index)
    }

    private static func content(
        _ members: MessageMembers, in text: Span<UInt8>, at index: Int
    ) throws(ChatRequestError) -> String {
        let name = ChatRequestFieldName(message: index, "content")
        guard let range = members.content else {
            guard members.hasContentBesideText else { throw .missing(name) }
            return ""
        }
        if text[range.lowerBound] == UInt8(ascii: "[") {
            throw ChatRequestError(
                problem: .wrongType, field: name.words,
                message: "\(name.words) must be a string; an array of parts is not understood.")
        }
        return try ChatRequestField(name, text.extracting(range)).string()
    }

    /// The further members as JSON text; `nil` if there are none. A member that the model server would reject is rejected here, because
    /// each later turn would repeat it.
    private static func extras(
        _ members: MessageMembers, in text: Span<UInt8>, at index: Int
    ) throws(ChatRequestError) -> String? {
        var buffer = ByteBuffer()
        for (key, range) in members.extras {
            let field = ChatRequestField(
                ChatRequestFieldName(message: index, key.name), text.extracting(range))
            switch key {
            case .thinking, .toolName, .toolCallID: try field.require(.string, "a string")
            case .toolCalls: try field.requireArray(of: .object, "objects")
            case .images: try field.requireArray(of: .string, "strings", atMost: ChatRequest.maximumImages)
            }
            if !buffer.isEmpty { buffer.append(UInt8(ascii: ",")) }
            buffer.append(UInt8(ascii: "\""))
            buffer.append(key.name)
            buffer.append("\":")
            buffer.append(field.json)
        }
        return buffer.isEmpty ? nil : buffer.string
    }
}

/// The ranges of the members of a message. Null counts as absent; of two equal names the last one counts.
private struct MessageMembers {
    var role: Range<Int>?
    var content: Range<Int>?
    var extras: [(key: Extra, value: Range<Int>)] = []

    init(of text: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(text)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let isNull = try reader.kind() == .null
            let range = try reader.skipValue()
            let value = isNull ? nil : range
            if reader.matches(key, "role") {
                role = value
            } else if reader.matches(key, "content") {
                content = value
            } else {
                for extra in Extra.allCases where reader.matches(key, extra.name) {
                    extras.removeAll { $0.key == extra }
                    if let value { extras.append((extra, value)) }
                }
            }
        }
    }

    /// Whether the message has tool calls or images, so that it needs no text.
    var hasContentBesideText: Bool { extras.contains { $0.key == .toolCalls || $0.key == .images } }

    /// The members that are kept beside role and content. Others are dropped, because model servers ignore them.
    enum Extra: CaseIterable {
        case thinking
        case toolCalls
        case toolName
        case toolCallID
        case images

        var name: StaticString {
            switch self {
            case .thinking: "thinking"
            case .toolCalls: "tool_calls"
            case .toolName: "tool_name"
            case .toolCallID: "tool_call_id"
            case .images: "images"
            }
        }
    }
}

extension String {
    /// Whether the text is empty or has white space only.
    fileprivate var isBlank: Bool {
        // Most texts begin with a visible ASCII character.
        if let first = utf8.first, 0x21...0x7E ~= first { return false }
        return unicodeScalars.allSatisfy { $0.properties.isWhitespace }
    }
}
