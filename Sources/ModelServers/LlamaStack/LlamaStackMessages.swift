import ChatterdBasics
import ChatterdLanguageModels

/// Translates the messages of a conversation for Llama Stack.
///
/// Messages of its assistant have a stop reason, and messages of its tools the id of a call; missing ids are generated. The
/// reasoning of a model is not sent.
struct LlamaStackMessages {
    /// The limit of stored calls, because each result is searched among them.
    private static let limit = 1_000

    private var isFirst = true
    private var generatedIDs = 0
    /// The calls of the assistant's last message without a result.
    private var openCalls: [LlamaStackCall] = []

    /// Appends messages: JSON objects with commas between them, as in `EncodedMessages`.
    ///
    /// - Throws: `unsupported` for a role that Llama Stack does not have, or a message that cannot be read.
    mutating func append(_ messages: Span<UInt8>, to buffer: inout ByteBuffer) throws(ModelError) {
        var start = 0
        while start < messages.count {
            let message: LlamaStackMessage
            do throws(JSONError) {
                message = try LlamaStackMessage(in: messages, from: &start)
            } catch {
                throw .llamaStack("messages", "that cannot be read: \(error)")
            }
            guard ["system", "user", "assistant", "tool"].contains(message.role) else {
                throw .llamaStack("role", "\"\(message.role)\"")
            }
            append(message, in: messages, to: &buffer)
        }
    }

    /// Appends the text that the answer begins with, as a message of the assistant.
    mutating func append(beginning: Span<UInt8>, to buffer: inout ByteBuffer) {
        separate(&buffer)
        buffer.append("{\"role\":\"assistant\",\"content\":")
        buffer.append(jsonString: beginning)
        buffer.append(",\"stop_reason\":\"out_of_tokens\"}")
    }

    private mutating func append(_ message: LlamaStackMessage, in text: Span<UInt8>, to buffer: inout ByteBuffer) {
        separate(&buffer)
        buffer.append("{\"role\":")
        buffer.append(jsonString: message.role)
        switch message.role {
        case "tool":
            buffer.append(",\"call_id\":")
            buffer.append(jsonString: callID(for: message))
        case "assistant":
            buffer.append(
                message.calls.isEmpty ? ",\"stop_reason\":\"end_of_turn\"" : ",\"stop_reason\":\"end_of_message\"")
            append(calls: message.calls, in: text, to: &buffer)
        default:
            break
        }
        buffer.append(",\"content\":")
        if message.images.isEmpty {
            buffer.append(quoting: message.content, of: text)
        } else {
            buffer.append(UInt8(ascii: "["))
            for image in message.images {
                buffer.append("{\"type\":\"image\",\"image\":{\"data\":")
                buffer.append(quoting: image, of: text)
                buffer.append("}},")
            }
            buffer.append("{\"type\":\"text\",\"text\":")
            buffer.append(quoting: message.content, of: text)
            buffer.append("}]")
        }
        buffer.append(UInt8(ascii: "}"))
    }

    private mutating func append(calls: [LlamaStackCall], in text: Span<UInt8>, to buffer: inout ByteBuffer) {
        openCalls = []
        for (index, call) in calls.enumerated() {
            var call = call
            if call.id.isEmpty {
                generatedIDs += 1
                call.id = "call_\(generatedIDs)"
            }
            if openCalls.count < Self.limit {
                openCalls.append(call)
            }
            buffer.append(index == 0 ? ",\"tool_calls\":[{\"call_id\":" : ",{\"call_id\":")
            buffer.append(jsonString: call.id)
            buffer.append(",\"tool_name\":")
            buffer.append(jsonString: call.name)
            buffer.append(",\"arguments\":")
            buffer.append(call.arguments)
            buffer.append(",\"arguments_json\":")
            buffer.append(jsonString: call.arguments.span)
            buffer.append(UInt8(ascii: "}"))
        }
        if !calls.isEmpty {
            buffer.append(UInt8(ascii: "]"))
        }
    }

    /// The id of the call that a message of a tool answers: its own id, or the id of the next open call with its name. Closes the call.
    private mutating func callID(for message: LlamaStackMessage) -> String {
        let index = openCalls.firstIndex { call in
            message.callID.isEmpty
                ? message.toolName.isEmpty || call.name == message.toolName : call.id == message.callID
        }
        let open = index.map { openCalls.remove(at: $0) }
        if !message.callID.isEmpty { return message.callID }
        if let open { return open.id }
        generatedIDs += 1
        return "call_\(generatedIDs)"
    }

    private mutating func separate(_ buffer: inout ByteBuffer) {
        if !isFirst {
            buffer.append(UInt8(ascii: ","))
        }
        isFirst = false
    }
}

extension ByteBuffer {
    /// Appends the inside of a JSON string, with quotes around it.
    fileprivate mutating func append(quoting inside: Range<Int>, of text: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        append(text.extracting(inside))
        append(UInt8(ascii: "\""))
    }
}

/// The members of a message; ranges are the insides of strings.
private struct LlamaStackMessage {
    var role = ""
    var content = 0..<0
    var images: [Range<Int>] = []
    var calls: [LlamaStackCall] = []
    var callID = ""
    var toolName = ""

    /// Reads the message at `start`, and moves `start` past the comma that follows it.
    init(in text: Span<UInt8>, from start: inout Int) throws(JSONError) {
        var reader = JSONReader(text, at: start)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "role") {
                role = try reader.text()
            } else if reader.matches(key, "content") {
                content = try reader.stringOrSkip()?.range ?? 0..<0
            } else if reader.matches(key, "tool_call_id") {
                callID = try reader.text()
            } else if reader.matches(key, "tool_name") {
                toolName = try reader.text()
            } else if reader.matches(key, "images") {
                try reader.beginArray()
                while try reader.nextElement() {
                    images.append(try reader.string().range)
                }
            } else if reader.matches(key, "tool_calls") {
                try reader.beginArray()
                while try reader.nextElement() {
                    calls.append(try LlamaStackCall(from: &reader))
                }
            } else {
                try reader.skipValue()
            }
        }
        start = reader.position + 1
    }
}

/// A tool call of a conversation, in the form of Ollama or OpenAI.
private struct LlamaStackCall {
    var id = ""
    var name = ""
    /// A JSON object.
    var arguments = Array("{}".utf8)

    init(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if reader.matches(key, "id") {
                id = try reader.text()
            } else if reader.matches(key, "function"), try reader.kind() == .object {
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    if reader.matches(key, "name") {
                        name = try reader.text()
                    } else if reader.matches(key, "arguments") {
                        arguments = try Self.arguments(from: &reader)
                    } else {
                        try reader.skipValue()
                    }
                }
            } else {
                try reader.skipValue()
            }
        }
    }

    private static func arguments(from reader: inout JSONReader) throws(JSONError) -> [UInt8] {
        var buffer = ByteBuffer()
        if try reader.kind() == .string {
            buffer.append(decodingJSON: reader.bytes.extracting(try reader.string().range))
            if buffer.isEmpty {
                buffer.append("{}")
            }
            let bytes = buffer.bytes
            try JSONReader.validate(bytes)
        } else {
            buffer.append(reader.bytes.extracting(try reader.skipValue()))
        }
        return buffer.array
    }
}

extension JSONReader {
    /// Skips a value of any type. Returns its text if it is a string, else an empty one.
    fileprivate mutating func text() throws(JSONError) -> String {
        guard let string = try stringOrSkip() else { return "" }
        return String(decodingJSON: bytes.extracting(string.range))
    }
}
