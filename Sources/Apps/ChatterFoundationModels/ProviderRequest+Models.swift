import ChatterModels

extension ProviderRequest {
    /// The prompt after the outputs of tools.
    static let continuation = "Continue with the results of the tools."

    /// A request of this library for FoundationModels: the reverse of `GenerationRequest.init`. With tools, the first entry has
    /// instructions, because FoundationModels shows the model its tools there.
    ///
    /// - Throws: `LLMError.rejected` for an image.
    public init(_ request: GenerationRequest) throws(LLMError) {
        var entries: [ProviderEntry] = []
        for message in request.transcript {
            let hasImage = message.chunks.contains { if case .image = $0 { true } else { false } }
            guard !hasImage else { throw .rejected("The model of this device reads no images.") }
            switch message {
            case .system(let message): entries.append(.instructions(message.chunks.text))
            case .user(let message): entries.append(.prompt(message.chunks.text))
            case .ai(let message):
                let calls = message.toolCalls
                if !message.reasoning.isEmpty { entries.append(.reasoning(message.reasoning)) }
                if !message.text.isEmpty || calls.isEmpty {
                    entries.append(.response(id: message.id ?? "", text: message.text))
                }
                if !calls.isEmpty { entries.append(.toolCalls(calls)) }
            case .toolOutput(let output):
                entries.append(.toolOutput(id: output.id, toolName: output.toolName, text: output.text))
            }
        }
        let hasInstructions = if case .instructions? = entries.first { true } else { false }
        if !request.tools.isEmpty, !hasInstructions { entries.insert(.instructions(""), at: 0) }
        self.init(
            entries: entries,
            tools: request.tools.map {
                Tool(
                    name: $0.name, description: $0.description,
                    parameters: $0.parameters.jsonSchema().withOrderOfMembers.json)
            }, schema: request.schema?.jsonSchema().withOrderOfMembers.json, options: request.options)
    }

    /// The prompt that is to be answered, and the entries before it. After the output of a tool it is one that we write.
    var lastPrompt: (before: [ProviderEntry], text: String) {
        guard case .prompt(let text)? = entries.last else { return (entries, Self.continuation) }
        return (Array(entries.dropLast()), text)
    }
}

extension StructuredContent {
    /// A JSON Schema with the order of the members of each object, as FoundationModels writes it: `x-order`.
    fileprivate var withOrderOfMembers: StructuredContent {
        guard case .object(let keywords) = self else { return self }
        var members = keywords.map { keyword in
            switch (keyword.name, keyword.value) {
            case ("properties", .object(let properties)):
                Member(keyword.name, .object(properties.map { Member($0.name, $0.value.withOrderOfMembers) }))
            case ("anyOf", .array(let forms)): Member(keyword.name, .array(forms.map(\.withOrderOfMembers)))
            case ("items", let form): Member(keyword.name, form.withOrderOfMembers)
            default: keyword
            }
        }
        if case .object(let properties)? = self["properties"] {
            members.append(Member("x-order", .array(properties.map { .string($0.name) })))
        }
        return .object(members)
    }
}
