import ChatterdBasics

extension ByteBuffer {
    /// Appends a message of the model.
    ///
    /// - Parameter toolCalls: JSON objects with commas between them.
    mutating func append(assistantSaying text: Span<UInt8>, thinking: Span<UInt8>, toolCalls: Span<UInt8>) {
        append("{\"role\":\"assistant\",\"content\":")
        append(jsonString: text)
        if !thinking.isEmpty {
            append(",\"thinking\":")
            append(jsonString: thinking)
        }
        if !toolCalls.isEmpty {
            append(",\"tool_calls\":[")
            append(toolCalls)
            append("]")
        }
        append("}")
    }
}
