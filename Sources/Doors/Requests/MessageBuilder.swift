import ChatterdBasics
import ChatterdLanguageModels

/// Builds a message in chatterd's own form, which is Ollama's.
struct MessageBuilder {
    var role: String
    /// The text; parts of a message are joined.
    var text = ""
    var thinking = ""
    /// The images: Base64 without a prefix, or URLs.
    private var images: [String] = []
    /// The calls of tools, as JSON objects with commas between them.
    private var calls = ByteBuffer()
    /// The call that the message is the result of.
    var callID: String?
    /// The tool that the message is the result of.
    var toolName: String?

    init(_ role: String) {
        self.role = role
    }

    /// Whether the message has neither text nor anything else.
    var isEmpty: Bool { text.isEmpty && thinking.isEmpty && images.isEmpty && calls.isEmpty && callID == nil }

    /// Adds an image: a URL, or a data URL, of which the Base64 is kept.
    mutating func add(imageURL url: String) {
        guard url.utf8.starts(with: "data:".utf8), let comma = url.utf8.firstIndex(of: UInt8(ascii: ",")) else {
            images.append(url)
            return
        }
        images.append(String(url[url.index(after: comma)...]))
    }

    /// Adds an image in Base64.
    mutating func add(image base64: String) {
        images.append(base64)
    }

    /// Adds a call of a tool; `arguments` is JSON.
    mutating func add(call id: String?, name: String, arguments: [UInt8]) {
        if !calls.isEmpty { calls.append(",") }
        calls.appendJSON { json in
            json.object { json in
                json.member("id", id)
                json.object("function") { json in
                    json.member("name", name)
                    json.member("arguments", raw: arguments.span)
                }
            }
        }
    }

    /// The message.
    func build() -> ModelMessage {
        var extras = ByteBuffer()
        func name(_ name: StaticString) {
            if !extras.isEmpty { extras.append(",") }
            extras.append("\"")
            extras.append(name)
            extras.append("\":")
        }
        if !thinking.isEmpty {
            name("thinking")
            extras.append(jsonString: thinking)
        }
        if !calls.isEmpty {
            name("tool_calls")
            extras.append("[")
            extras.append(calls)
            extras.append("]")
        }
        if let toolName {
            name("tool_name")
            extras.append(jsonString: toolName)
        }
        if let callID {
            name("tool_call_id")
            extras.append(jsonString: callID)
        }
        if !images.isEmpty {
            name("images")
            extras.appendJSON { json in json.array { array in images.forEach { array.string($0) } } }
        }
        return ModelMessage(role: role, content: text, extras: extras.isEmpty ? nil : extras.string)
    }
}
