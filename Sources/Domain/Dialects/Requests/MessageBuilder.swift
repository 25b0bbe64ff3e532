import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// Builds a message in chatterd's own form, which is Ollama's.
struct MessageBuilder {
    var role: String
    var text = ""
    var thinking = ""
    /// The images: Base64 without a prefix, or URLs.
    private var images: [String] = []
    /// The calls of tools, as JSON objects with commas between them.
    private var calls = ByteBuffer()
    /// The calls of tools of servers, with their results.
    private var steps = AnswerSteps()
    /// The bytes of what the message has before its last calls of tools of servers.
    private var stepEnd = (text: 0, thinking: 0)
    /// The group of the last one of these calls.
    private var group: [UInt8] = []
    /// The call that the message is the result of.
    var callID: String?
    /// The tool that the message is the result of.
    var toolName: String?
    /// The name of the participant who wrote the message. Servers of kind `openai` get it.
    var name: String?

    init(_ role: String) {
        self.role = role
    }

    /// Whether the message has neither text nor anything else.
    var isEmpty: Bool {
        text.isEmpty && thinking.isEmpty && images.isEmpty && calls.isEmpty && steps.rounds.isEmpty && callID == nil
    }

    /// Adds a part of the text. It begins on a line of its own, as vLLM and llama.cpp join the parts of a message; those of the model are
    /// pieces of one answer.
    mutating func add(text part: String) {
        if role != "assistant", !text.isEmpty, !part.isEmpty { text += "\n" }
        text += part
    }

    /// Adds an image: a URL, Base64, or a data URL (RFC 2397), of which the Base64 is kept. Its first bytes tell the type.
    ///
    /// - Throws: `invalidRequest` for a data URL that is not in Base64.
    mutating func add(imageURL url: String, in path: String) throws(RelayError) {
        guard url.prefix(5).lowercased() == "data:" else {
            images.append(url)
            return
        }
        guard let comma = url.utf8.firstIndex(of: UInt8(ascii: ",")),
            url[..<comma].lowercased().hasSuffix(";base64"),
            let base64 = Self.base64(url.utf8[url.utf8.index(after: comma)...])
        else { throw .invalid("\(path) must be a URL, or a data URL in Base64: data:image/png;base64,…", path) }
        images.append(base64)
    }

    /// Base64 (RFC 4648 4) from a data URL, whose characters may be escaped, or be those of the alphabet for URLs; `nil` for another text.
    private static func base64(_ text: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text.makeIterator()
        while var byte = rest.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.next().flatMap(hexadecimal), let low = rest.next().flatMap(hexadecimal) else {
                    return nil
                }
                byte = high << 4 | low
            }
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
                bytes.append(byte)
            case UInt8(ascii: "-"): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): bytes.append(UInt8(ascii: "/"))
            case 0x09, 0x0A, 0x0D, 0x20: break
            default: return nil
            }
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
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

    /// Adds a call of a tool of a server, with its end, behind what the message has so far.
    ///
    /// - Parameter group: the same for calls of one request to the model, as far as it is known.
    mutating func add(
        callOf origin: ToolOrigin, in group: [UInt8], arguments: [UInt8],
        _ end: (state: AnswerSteps.State, result: String)
    ) {
        var json = ByteBuffer()
        json.appendJSON { json in
            json.object { json in
                json.object("function") { json in
                    json.member("name", origin.possibleName)
                    json.member("arguments", raw: arguments.span)
                }
            }
        }
        guard let object = try? JSONSlice(json.array), var call = AnswerSteps.Call(object) else { return }
        call.end(end.state, Array(end.result.utf8))
        call.origin = origin
        let said = (text: Array(text.utf8.dropFirst(stepEnd.text)), Array(thinking.utf8.dropFirst(stepEnd.thinking)))
        if steps.rounds.isEmpty || !said.text.isEmpty || !said.1.isEmpty || group != self.group {
            self.group = group
            steps.rounds.append(AnswerSteps.Round(text: said.text, thinking: said.1, calls: []))
            stepEnd = (text.utf8.count, thinking.utf8.count)
        }
        steps.rounds[steps.rounds.count - 1].calls.append(call)
    }

    /// The message.
    func build() -> ModelMessage {
        var extras = ByteBuffer()
        func key(_ name: StaticString) {
            if !extras.isEmpty { extras.append(",") }
            extras.append("\"")
            extras.append(name)
            extras.append("\":")
        }
        if !steps.rounds.isEmpty { extras.append(steps.member) }
        if !thinking.isEmpty {
            key("thinking")
            extras.append(jsonString: thinking)
        }
        if !calls.isEmpty {
            key("tool_calls")
            extras.append("[")
            extras.append(calls)
            extras.append("]")
        }
        if let toolName {
            key("tool_name")
            extras.append(jsonString: toolName)
        }
        if let callID {
            key("tool_call_id")
            extras.append(jsonString: callID)
        }
        if !images.isEmpty {
            key("images")
            extras.appendJSON { json in json.array { array in images.forEach { array.string($0) } } }
        }
        if let name {
            key("name")
            extras.append(jsonString: name)
        }
        return ModelMessage(role: role, content: text, extras: extras.isEmpty ? nil : extras.string)
    }
}
