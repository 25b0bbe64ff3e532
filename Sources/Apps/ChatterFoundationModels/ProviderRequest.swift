import ChatterModels

/// A request of FoundationModels to an executor, in types that exist on all systems.
public struct ProviderRequest: Sendable, Hashable {
    /// A tool; `parameters` is a JSON Schema.
    public struct Tool: Sendable, Hashable {
        public var name: String
        public var description: String
        public var parameters: String

        public init(name: String, description: String, parameters: String) {
            self.name = name
            self.description = description
            self.parameters = parameters
        }
    }

    public var entries: [ProviderEntry]
    public var tools: [Tool]
    /// A JSON Schema; `nil` for text.
    public var schema: String?
    public var options: LLMReplyOptions

    public init(
        entries: [ProviderEntry], tools: [Tool] = [], schema: String? = nil, options: LLMReplyOptions = .default
    ) {
        self.entries = entries
        self.tools = tools
        self.schema = schema
        self.options = options
    }
}

extension GenerationRequest {
    /// The request for a model of this library. The id of a response becomes that of its message, so that chatterd is sent only what is
    /// new.
    ///
    /// - Throws: `LLMError.rejected` for a schema that cannot be read.
    public init(_ request: ProviderRequest) throws(LLMError) {
        var messages: [Message] = []
        var reasoning = ""
        for entry in request.entries {
            switch entry {
            case .instructions(let text): messages.append(.system(SystemMessage(text)))
            case .prompt(let text): messages.append(.user(UserMessage(text)))
            case .reasoning(let text): reasoning += text
            case .toolCalls(let calls):
                messages.append(.ai(AIMessage("", toolCalls: calls, reasoning: reasoning)))
                reasoning = ""
            case .toolOutput(let id, let name, let text):
                messages.append(.toolOutput(ToolOutput(id: id, toolName: name, text)))
            case .response(let id, let text):
                messages.append(.ai(AIMessage(text, reasoning: reasoning, id: id)))
                reasoning = ""
            }
        }
        var tools: [ToolDescription] = []
        for tool in request.tools {
            tools.append(
                ToolDescription(
                    name: tool.name, description: tool.description, parameters: try Self.schema(tool.parameters)))
        }
        var schema: Schema?
        if let text = request.schema { schema = try Self.schema(text) }
        self.init(transcript: messages, tools: tools, schema: schema, options: request.options)
    }

    private static func schema(_ text: String) throws(LLMError) -> Schema {
        do {
            return try Schema(jsonSchema: StructuredContent(json: text))
        } catch let violation as SchemaViolation {
            throw .rejected("The requested form cannot be generated: \(violation).")
        } catch {
            throw .rejected("The requested form is not JSON.")
        }
    }
}
