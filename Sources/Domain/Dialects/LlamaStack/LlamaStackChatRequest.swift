import ChatterdBasics
import ChatterdChat

/// Writes the body of a request to Llama Stack's `/v1/inference/chat-completion`.
///
/// A field that Llama Stack cannot express is rejected with its name.
struct LlamaStackChatRequest {
    private(set) var body: ByteBuffer

    /// Translates a request.
    ///
    /// - Throws: `unsupported` with the name of the field.
    init(_ request: GenerationRequest) throws(ModelError) {
        body = ByteBuffer(capacity: request.messages.byteCount + request.beginning.count + 512)
        try body.appendJSON { writer throws(ModelError) in
            try writer.object { object throws(ModelError) in
                object.member("model_id", request.model)
                try object.array("messages") { messages throws(ModelError) in
                    try Self.write(messagesOf: request, to: &messages)
                }
                object.member("stream", true)
                for member in request.passThrough {
                    try Self.write(member, to: &object)
                }
            }
        }
    }

    private static func write(
        messagesOf request: GenerationRequest, to array: inout JSONWriter
    ) throws(ModelError) {
        var messages = LlamaStackMessages()
        try request.messages.forEachRun { run throws(ModelError) in
            try messages.write(run, to: &array)
        }
        guard !request.beginning.isEmpty else { return }
        guard request.continuation != .continueFinalMessage else { throw .llamaStack("continue_final_message") }
        array.object { message in
            message.member("role", "assistant")
            message.name("content")
            message.string(request.beginning.span)
            message.member("stop_reason", "out_of_tokens")
        }
    }

    private static func write(_ member: RawMember, to object: inout JSONWriter) throws(ModelError) {
        switch member.key {
        case "options":
            let sampling = try LlamaStackSampling(options: member)
            guard !sampling.isEmpty else { return }
            object.object("sampling_params") { sampling.write(to: &$0) }
        case "tools":
            do throws(JSONError) {
                try object.array("tools") { array throws(JSONError) in
                    try array.write(llamaStackTools: member.value)
                }
            } catch {
                throw .llamaStack("tools", "but a list of functions")
            }
        case "format":
            try write(format: member.value, to: &object)
        case "tool_choice", "tool_prompt_format", "tool_config":
            // These members are Llama Stack's own.
            object.members([member])
        case "truncate":
            // chatterd itself refuses a prompt that does not fit, if the client says so.
            break
        case "logprobs" where member.value == Array("false".utf8):
            break
        default:
            throw .llamaStack(member.key)
        }
    }

    private static func write(format: [UInt8], to object: inout JSONWriter) throws(ModelError) {
        guard let schema = try schema(of: format) else { return }
        object.object("response_format") { format in
            format.member("type", "json_schema")
            format.member("json_schema", raw: schema.span)
        }
    }

    /// The JSON schema of a format; `nil` for no format.
    private static func schema(of format: [UInt8]) throws(ModelError) -> [UInt8]? {
        switch format.first {
        case UInt8(ascii: "{"):
            return format
        case UInt8(ascii: "\"") where format == Array("\"json\"".utf8):
            // Llama Stack has no other way to ask for any JSON.
            return Array("{\"type\":\"object\"}".utf8)
        case UInt8(ascii: "\"") where format.count == 2:
            // Ollama's clients write an empty text for no format.
            return nil
        default:
            throw .llamaStack("format", "but a schema or \"json\"")
        }
    }
}

extension ModelError {
    /// A member of the request has no counterpart in Llama Stack; `how` completes the sentence.
    static func llamaStack(_ name: String, _ how: String = "") -> ModelError {
        var error = ModelError(
            .unsupported, "The native API of Llama Stack does not take \"\(name)\"\(how.isEmpty ? "" : " ")\(how).",
            detail: "a field of the request has no counterpart: \(name)")
        if name == "think" { error.hint = .thinking }
        return error
    }
}
