import ChatterdBasics

extension StructuredContent {
    /// A count of a server (`PeerCount`); `nil` for any other value.
    var count: Int? { PeerCount.checked(exactInteger) }

    /// The text of a string; `nil` for any other value.
    var wireText: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The elements of an array; none for any other value.
    var wireElements: [StructuredContent] {
        if case .array(let elements) = self { elements } else { [] }
    }

    /// The bytes as a JSON body.
    var wireBytes: [UInt8] { Array(json.utf8) }

    /// The arguments of a call that a model wrote as text. Text that is not JSON stays text, which no schema of arguments permits.
    static func arguments(_ text: String) -> StructuredContent {
        if text.allSatisfy(\.isWhitespace) { return .object([]) }
        return (try? StructuredContent(json: text)) ?? .string(text)
    }
}

extension [StructuredContent.Member] {
    mutating func add(_ name: String, _ value: StructuredContent?) {
        if let value { append(StructuredContent.Member(name, value)) }
    }

    /// Adds members, in place of those of the same name.
    mutating func merge(_ members: [StructuredContent.Member]) {
        for member in members {
            removeAll { $0.name == member.name }
            append(member)
        }
    }
}

extension LLMReplyOptions {
    /// The temperature to send: 0 for `greedy`.
    var wireTemperature: StructuredContent? {
        if let temperature { return .number(temperature) }
        return samplingMode == .greedy ? 0 : nil
    }

    var wireTopP: StructuredContent? {
        if case .topP(let value)? = samplingMode { .number(value) } else { nil }
    }

    var wireTopK: StructuredContent? { topK.map { .integer($0) } }
    var wireSeed: StructuredContent? { seed.map { .integer($0) } }
}

extension Usage {
    /// The counts under two names; `nil` if the server does not count the answer.
    init?(_ content: StructuredContent?, prompt: String, answer: String) {
        guard let tokens = content?[answer]?.count else { return nil }
        self.init(promptTokens: content?[prompt]?.count ?? 0, answerTokens: tokens)
    }
}

extension ToolDescription {
    /// The tool in OpenAI's form, which Ollama and chatterd read too.
    var wireFunction: StructuredContent {
        [
            "type": "function",
            "function": [
                "name": .string(name), "description": .string(description), "parameters": parameters.jsonSchema(),
            ],
        ]
    }
}

extension Schema {
    /// A name for servers that want one: letters, digits, `_` and `-`.
    var wireName: String {
        guard case .object(let name, _, _) = self else { return "answer" }
        let letters = name.unicodeScalars.map {
            $0.isASCII && ($0.properties.isAlphabetic || $0 == "_" || ("0"..."9").contains($0)) ? Character($0) : "_"
        }
        return letters.isEmpty ? "answer" : String(letters.prefix(64))
    }
}
