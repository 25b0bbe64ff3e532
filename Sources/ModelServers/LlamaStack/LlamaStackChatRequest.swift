import ChatterdBasics
import ChatterdLanguageModels

/// Writes the body of a request to Llama Stack's `/v1/inference/chat-completion`.
///
/// A field that Llama Stack cannot express is rejected with its name.
struct LlamaStackChatRequest {
    /// The body, complete after `init`.
    private(set) var body: ByteBuffer

    /// Translates a request.
    ///
    /// - Throws: `unsupported` with the name of the field.
    init(_ request: GenerationRequest) throws(ModelError) {
        body = ByteBuffer(capacity: request.messages.json.count + request.beginning.count + 512)
        body.append("{\"model_id\":")
        body.append(jsonString: request.model)
        body.append(",\"messages\":[")
        var messages = LlamaStackMessages()
        try messages.append(request.messages.json.bytes, to: &body)
        if !request.beginning.isEmpty {
            guard request.continuation != .continueFinalMessage else { throw .llamaStack("continue_final_message") }
            messages.append(beginning: request.beginning.span, to: &body)
        }
        body.append("],\"stream\":true")
        for member in request.passThrough {
            try append(member)
        }
        body.append(UInt8(ascii: "}"))
    }

    private mutating func append(_ member: RawMember) throws(ModelError) {
        switch member.key {
        case "options":
            let sampling = try LlamaStackSampling(options: member)
            guard !sampling.isEmpty else { return }
            body.append(",\"sampling_params\":")
            sampling.append(to: &body)
        case "tools":
            body.append(",\"tools\":")
            do throws(JSONError) {
                try body.append(llamaStackTools: member.value.span)
            } catch {
                throw .llamaStack("tools", "but a list of functions")
            }
        case "format":
            try append(format: member.value)
        case "tool_choice", "tool_prompt_format", "tool_config":
            // These members are Llama Stack's own.
            body.append(UInt8(ascii: ","))
            body.append([member])
        case "logprobs" where member.value == Array("false".utf8):
            break
        default:
            throw .llamaStack(member.key)
        }
    }

    private mutating func append(format: [UInt8]) throws(ModelError) {
        switch format.first {
        case UInt8(ascii: "{"):
            body.append(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":")
            body.append(format)
            body.append(UInt8(ascii: "}"))
        case UInt8(ascii: "\"") where format == Array("\"json\"".utf8):
            // Llama Stack has no other way to ask for any JSON.
            body.append(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"type\":\"object\"}}")
        case UInt8(ascii: "\"") where format.count == 2:
            // Ollama's clients write an empty text for no format.
            break
        default:
            throw .llamaStack("format", "but a schema or \"json\"")
        }
    }
}

extension ModelError {
    /// A member of the request has no counterpart in Llama Stack; `how` completes the sentence.
    static func llamaStack(_ name: String, _ how: String = "") -> ModelError {
        ModelError(
            .unsupported, "The native API of Llama Stack does not take \"\(name)\"\(how.isEmpty ? "" : " ")\(how).",
            detail: "a field of the request has no counterpart: \(name)")
    }
}
