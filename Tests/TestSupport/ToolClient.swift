import Foundation

/// The phone client of the course's tutorial on tools: its types, its SSE loop and its round trip, transcribed.
///
/// It sends the prompt with the tools of the device, runs the tools that an event `tool_calls` names, and sends their results alone, until a
/// stream has no calls.
public struct ToolClient {
    /// A tool of the device: its schema as JSON, and its function.
    public struct Tool {
        let name: String
        let schema: String
        let run: ([String: String]) -> String

        public init(_ name: String, schema: String, _ run: @escaping ([String: String]) -> String) {
            self.name = name
            self.schema = schema
            self.run = run
        }

        /// `get_location` of the tutorial, which has no parameters.
        public static func location(_ result: String) -> Tool {
            Tool(
                "get_location",
                schema:
                    #"{"type":"function","function":{"name":"get_location","description":"Get current location","parameters":null}}"#
            ) { _ in result }
        }
    }

    private enum EventType {
        case error
        case message
        case toolCalls
    }

    private struct OllamaMessage: Codable {
        let role: String
        let content: String?
        var thinking: String?
        var tool_calls: [OllamaToolCall]?
    }

    private struct OllamaToolCall: Codable {
        let function: OllamaFunctionCall
    }

    private struct OllamaFunctionCall: Codable {
        let name: String
        let arguments: [String: String]
    }

    private struct OllamaResponse: Decodable {
        let model: String
        let created_at: String
        let message: OllamaMessage
    }

    /// The text in the chat bubble.
    public private(set) var message = ""
    /// The text of the alert.
    public private(set) var errMsg = ""
    /// The calls, as name and arguments.
    public private(set) var calls: [String] = []
    /// The bodies of the requests.
    public private(set) var requests: [String] = []

    private let appID: String
    private let model: String
    private let tools: [Tool]
    private var results: [OllamaMessage] = []

    public init(appID: String, model: String = "tiny", tools: [Tool]) {
        self.appID = appID
        self.model = model
        self.tools = tools
    }

    /// Asks until an answer has no call of a tool. `send` posts a body and returns the bytes of the stream.
    public mutating func ask(_ prompt: String, send: (String) throws -> [UInt8]) throws {
        var messages = [OllamaMessage(role: "user", content: prompt)]
        var schemas: [Tool]? = tools
        while !messages.isEmpty {
            let list = String(decoding: try JSONEncoder().encode(messages), as: UTF8.self)
            let member = schemas.map { #","tools":[\#($0.map(\.schema).joined(separator: ","))]"# } ?? ""
            let body = #"{"appID":"\#(appID)","model":"\#(model)","messages":\#(list),"stream":true\#(member)}"#
            requests.append(body)
            results = []
            read(try send(body))
            messages = results
            schemas = nil
        }
    }

    private mutating func read(_ bytes: [UInt8]) {
        var event = EventType.message
        var line = ""
        for character in String(decoding: bytes, as: UTF8.self) {
            guard character == "\n" || character == "\r\n" else {
                line.append(character)
                continue
            }
            if line.isEmpty {
                event = .message
                continue
            }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts[1].trimmingCharacters(in: .whitespaces)
            if parts[0].starts(with: "event") {
                switch value {
                case "error": event = .error
                case "tool_calls": event = .toolCalls
                default: break
                }
            } else if parts[0].starts(with: "data") {
                handle(Data(value.utf8), event)
            }
            line = ""
        }
    }

    private mutating func handle(_ data: Data, _ event: EventType) {
        do {
            let response = try JSONDecoder().decode(OllamaResponse.self, from: data)
            switch event {
            case .error: errMsg += response.message.content ?? ""
            case .message: message += response.message.content ?? ""
            case .toolCalls:
                for call in response.message.tool_calls ?? [] { run(call.function) }
            }
        } catch {
            errMsg += "\(error)"
        }
    }

    private mutating func run(_ call: OllamaFunctionCall) {
        calls.append(call.name)
        guard let tool = tools.first(where: { $0.name == call.name }) else {
            errMsg += "llmTools: no tool \(call.name)"
            return
        }
        results.append(OllamaMessage(role: "tool", content: tool.run(call.arguments)))
    }
}
