/// Repeats the last message of the user, word by word, for examples and tests without a server. A prompt of JSON is a structured answer.
public struct EchoLLM: LLM {
    public let name = "echo"
    public let generatesSchemasWithTools = true

    public init() {}

    public var availability: Availability { .available }

    public func events(for request: GenerationRequest) -> AsyncThrowingStream<GenerationEvent, any Error> {
        let text = request.transcript.last { $0.role == .user }?.text ?? ""
        let end = GenerationEnd(reason: .stop, model: name)
        return AsyncThrowingStream { continuation in
            var rest = Substring(text)
            while !rest.isEmpty {
                let word = rest[...(rest.firstIndex(of: " ") ?? rest.index(before: rest.endIndex))]
                continuation.yield(.text(String(word)))
                rest = rest[word.endIndex...]
            }
            continuation.yield(.finished(end))
            continuation.finish()
        }
    }
}
