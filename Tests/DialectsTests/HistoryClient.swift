import ChatterdBasics
import ChatterdTestSupport

@testable import ChatterdDialects

/// A client that sends a history in the form of an API: it splits texts into parts, adds white space, drops reasoning and images, and gives
/// calls other ids and other spellings.
struct HistoryClient {
    enum API: CaseIterable {
        case ollama, openAI, responses, anthropic

        var translator: any ChatTranslator {
            switch self {
            case .ollama: OllamaChat()
            case .openAI: OpenAIChat()
            case .responses: OpenResponses()
            case .anthropic: AnthropicMessages()
            }
        }
    }

    let api: API
    var random: SeededGenerator
    private var lastCall = "c0"

    init(_ api: API, _ random: SeededGenerator) {
        (self.api, self.random) = (api, random)
    }

    /// The body of a request with a history.
    mutating func body(_ history: [SaidMessage]) -> String {
        var items: [String] = []
        var head = #""model":"m""#
        for message in history {
            switch api {
            case .ollama: items.append(ollama(message))
            case .openAI: items.append(openAI(message))
            case .responses: items += response(message)
            case .anthropic where message.role == "system": head += ",\"system\":\(parts(message, type: "text"))"
            case .anthropic: items.append(anthropic(message))
            }
        }
        if api == .anthropic { head += ",\"max_tokens\":9" }
        return "{\(head),\"\(api == .responses ? "input" : "messages")\":[\(items.joined(separator: ","))]}"
    }

    private mutating func ollama(_ message: SaidMessage) -> String {
        var members = "\"role\":\"\(message.role)\",\"content\":\(text(message.text))"
        if message.role == "assistant", flip() { members += #","thinking":"hm""# }
        if let call = message.call {
            members += #","tool_calls":[{"function":{"name":"f","arguments":\#(arguments(call))}}]"#
        }
        if message.role == "tool" { members += #","tool_name":"f""# }
        if let image = message.image { members += ",\"images\":[\"\(data(image))\"]" }
        return "{\(members)}"
    }

    private mutating func openAI(_ message: SaidMessage) -> String {
        var members = "\"role\":\"\(message.role)\""
        if let image = message.image {
            let parts = "{\"type\":\"text\",\"text\":\(text(message.text))},"
            members += ",\"content\":[\(parts){\"type\":\"image_url\",\"image_url\":{\"url\":\"\(url(image))\"}}]"
        } else {
            members += ",\"content\":" + (flip() ? text(message.text) : parts(message, type: "text"))
        }
        if message.role == "assistant", flip() { members += #","reasoning_content":"hm""# }
        if let call = message.call {
            let function = "{\"name\":\"f\",\"arguments\":\(quoted(arguments(call)))}"
            members += ",\"tool_calls\":[{\"id\":\"\(newID())\",\"type\":\"function\",\"function\":\(function)}]"
        }
        if message.role == "tool" { members += ",\"tool_call_id\":\"\(lastCall)\"" }
        return "{\(members)}"
    }

    private mutating func response(_ message: SaidMessage) -> [String] {
        if message.role == "tool" {
            let output = "\"call_id\":\"\(lastCall)\",\"output\":\(text(message.text))"
            return ["{\"type\":\"function_call_output\",\(output)}"]
        }
        var items: [String] = []
        if message.role == "assistant", flip() {
            items.append(#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}"#)
        }
        let type = message.role == "assistant" ? "output_text" : "input_text"
        var content = flip() ? text(message.text) : parts(message, type: type)
        if let image = message.image {
            let picture = "{\"type\":\"input_image\",\"image_url\":\"\(url(image))\"}"
            content = "[{\"type\":\"input_text\",\"text\":\(text(message.text))},\(picture)]"
        }
        items.append("{\"type\":\"message\",\"role\":\"\(message.role)\",\"content\":\(content)}")
        if let call = message.call {
            let function = "\"name\":\"f\",\"arguments\":\(quoted(arguments(call)))"
            items.append("{\"type\":\"function_call\",\"call_id\":\"\(newID())\",\(function)}")
        }
        return items
    }

    private mutating func anthropic(_ message: SaidMessage) -> String {
        if message.role == "tool" {
            let result = "{\"type\":\"tool_result\",\"tool_use_id\":\"\(lastCall)\",\"content\":\(text(message.text))}"
            return "{\"role\":\"user\",\"content\":[\(result)]}"
        }
        var blocks = parts(message, type: "text")
        blocks.removeLast()
        if message.role == "assistant", flip() {
            blocks = #"[{"type":"thinking","thinking":"hm","signature":"s"},"# + blocks.dropFirst()
        }
        if let call = message.call {
            blocks += ",{\"type\":\"tool_use\",\"id\":\"\(newID())\",\"name\":\"f\",\"input\":\(arguments(call))}"
        }
        if let image = message.image {
            let source = "{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"\(data(image))\"}"
            blocks += ",{\"type\":\"image\",\"source\":\(source)}"
        }
        return "{\"role\":\"\(message.role)\",\"content\":\(blocks)]}"
    }

    // MARK: - Forms

    private mutating func flip() -> Bool { Bool.random(using: &random) }

    private mutating func newID() -> String {
        lastCall = "call_\(UInt32.random(in: 0 ... .max, using: &random))"
        return lastCall
    }

    /// A text with white space at its ends.
    private mutating func padded(_ text: String) -> String {
        func space(_ random: inout SeededGenerator) -> String {
            ["", "", " ", "\n", "\t\r\n", "\u{a0}", "\u{2003} "].randomElement(using: &random) ?? ""
        }
        return space(&random) + text + space(&random)
    }

    private mutating func text(_ text: String) -> String { quoted(padded(text)) }

    /// A text in parts: that of a model cut anywhere, others at a line break.
    private mutating func parts(_ message: SaidMessage, type: String) -> String {
        let scalars = Array(padded(message.text).unicodeScalars)
        var texts = [scalars[...]]
        if message.role != "assistant" {
            let breaks = scalars.indices.dropFirst().dropLast().filter { scalars[$0] == "\n" }
            if flip(), let place = breaks.randomElement(using: &random) {
                texts = [scalars[..<place], scalars[(place + 1)...]]
            }
        } else {
            var cuts = [0, scalars.count]
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                cuts.append(Int.random(in: 0...scalars.count, using: &random))
            }
            cuts.sort()
            texts = zip(cuts, cuts.dropFirst()).map { scalars[$0..<$1] }
        }
        let parts = texts.map { text in
            "{\"type\":\"\(type)\",\"text\":\(quoted(String(String.UnicodeScalarView(text))))}"
        }
        return "[\(parts.joined(separator: ","))]"
    }

    /// The arguments of a call, in one of several spellings.
    private mutating func arguments(_ number: Int) -> String {
        let spellings = [
            "{\"n\":\(number),\"s\":\"é\"}", "{ \"s\" : \"\\u00e9\", \"n\" : \(number).0 }",
            "{\"n\":\(number)e0,\"s\":\"é\"}",
            "{\"s\":\"é\",\"n\":\(number),\"x\":null}",
        ]
        return spellings.randomElement(using: &random) ?? ""
    }

    /// The bytes of an image, as base64.
    private func data(_ image: Int) -> String { "iVBORw0KGgo\(image % 10)" }

    private func url(_ image: Int) -> String { "data:image/png;base64,\(data(image))" }

    private func quoted(_ text: String) -> String {
        var buffer = ByteBuffer()
        buffer.append(jsonString: text)
        return buffer.string
    }
}
