/// The events of a model server of the kind `openai`.
public enum OpenAIStream {
    /// Data as an event.
    public static func event(_ data: String) -> String { "data: \(data)\n\n" }

    /// A chunk as vLLM writes it, with a delta and the rest of the choice.
    public static func chunk(_ delta: String, finish: String = "null") -> String {
        event(
            #"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{\#(delta)},"logprobs":null,"finish_reason":\#(finish)}]}"#
        )
    }

    /// A chunk with text.
    public static func token(_ text: String) -> String { chunk("\"content\":\(jsonString(text))") }

    /// The chunk with the reason.
    public static let finish = chunk("", finish: "\"stop\"")
    /// The chunk with the counts.
    public static let usage = event(
        #"{"id":"chatcmpl-1","model":"m","choices":[],"usage":{"prompt_tokens":18,"total_tokens":31,"completion_tokens":13}}"#
    )
    /// The last event.
    public static let done = event("[DONE]")
}
