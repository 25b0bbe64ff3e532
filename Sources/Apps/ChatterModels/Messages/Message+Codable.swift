// Stored messages. The names of cases are written down here, so that renaming one loses no stored transcript. Before 0.2 the compiler wrote
// them: `{"user":{"_0":{…}}}`.

extension Message: Codable {
    private enum CodingKeys: String, CodingKey {
        case role
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let role = try container.decodeIfPresent(String.self, forKey: .role) else {
            self = try Self(old: decoder)
            return
        }
        switch role {
        case "system": self = .system(try SystemMessage(from: decoder))
        case "user": self = .user(try UserMessage(from: decoder))
        case "ai": self = .ai(try AIMessage(from: decoder))
        case "toolOutput": self = .toolOutput(try ToolOutput(from: decoder))
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .role, in: container, debugDescription: "no role of this version")
        }
    }

    private init(old decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CaseKey.self)
        if let message = try container.value(of: "system", as: SystemMessage.self) {
            self = .system(message)
        } else if let message = try container.value(of: "user", as: UserMessage.self) {
            self = .user(message)
        } else if let message = try container.value(of: "ai", as: AIMessage.self) {
            self = .ai(message)
        } else {
            self = .toolOutput(try container.lastValue(of: "toolOutput", as: ToolOutput.self))
        }
    }

    /// Encodes the members of the message, and its role.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .system(let message):
            try container.encode("system", forKey: .role)
            try message.encode(to: encoder)
        case .user(let message):
            try container.encode("user", forKey: .role)
            try message.encode(to: encoder)
        case .ai(let message):
            try container.encode("ai", forKey: .role)
            try message.encode(to: encoder)
        case .toolOutput(let output):
            try container.encode("toolOutput", forKey: .role)
            try output.encode(to: encoder)
        }
    }
}

extension ContentChunk: Codable {
    private enum CodingKeys: String, CodingKey {
        case type, text, json
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let type = try container.decodeIfPresent(String.self, forKey: .type) else {
            self = try Self(old: decoder)
            return
        }
        switch type {
        case "text": self = .text(try container.decode(String.self, forKey: .text))
        case "structured": self = .structured(try container.decode(StructuredContent.self, forKey: .json))
        case "image": self = .image(try ImageContent(from: decoder))
        case "toolCall": self = .toolCall(try ToolCall(from: decoder))
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .type, in: container, debugDescription: "no type of this version")
        }
    }

    private init(old decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CaseKey.self)
        if let text = try container.value(of: "text", as: String.self) {
            self = .text(text)
        } else if let content = try container.value(of: "structured", as: StructuredContent.self) {
            self = .structured(content)
        } else if let image = try container.value(of: "image", as: ImageContent.self) {
            self = .image(image)
        } else {
            self = .toolCall(try container.lastValue(of: "toolCall", as: ToolCall.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .text(let text):
            try container.encode("text", forKey: .type)
            try container.encode(text, forKey: .text)
        case .structured(let content):
            try container.encode("structured", forKey: .type)
            try container.encode(content, forKey: .json)
        case .image(let image):
            try container.encode("image", forKey: .type)
            try image.encode(to: encoder)
        case .toolCall(let call):
            try container.encode("toolCall", forKey: .type)
            try call.encode(to: encoder)
        }
    }
}

/// A key of the compiler's coding of an enumeration: the name of a case, or `_0` for its value.
private struct CaseKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        return nil
    }
}

extension KeyedDecodingContainer<CaseKey> {
    /// The value of a case; `nil` if this is another case.
    fileprivate func value<Value: Decodable>(of name: String, as type: Value.Type) throws -> Value? {
        contains(CaseKey(stringValue: name)) ? try lastValue(of: name, as: type) : nil
    }

    fileprivate func lastValue<Value: Decodable>(of name: String, as type: Value.Type) throws -> Value {
        try nestedContainer(keyedBy: CaseKey.self, forKey: CaseKey(stringValue: name))
            .decode(type, forKey: CaseKey(stringValue: "_0"))
    }
}
