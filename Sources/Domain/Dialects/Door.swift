/// An API of another system that clients may use in place of chatterd's own.
///
/// This is the table of doors. A new one needs its folder and its lines here.
public enum Door: UInt8, Sendable, CaseIterable {
    /// Ollama's own API.
    case ollama = 1
    /// OpenAI's chat completions.
    case openAI
    /// Anthropic's messages.
    case anthropic

    /// The form of its requests, answers and errors.
    public var dialect: any DoorDialect {
        switch self {
        case .ollama: OllamaDoor()
        case .openAI: OpenAIDoor()
        case .anthropic: AnthropicDoor()
        }
    }

    /// The door that a request comes to; `nil` for chatterd's own paths.
    ///
    /// - Parameter namesAnthropic: whether the request has the field `anthropic-version`.
    public init?(path: String, namesAnthropic: Bool) {
        func isBelow(_ folder: String) -> Bool {
            path.utf8.starts(with: folder.utf8)
                && (path.utf8.count == folder.utf8.count
                    || path.utf8.dropFirst(folder.utf8.count).first == UInt8(ascii: "/"))
        }
        if isBelow("/v1/messages") || namesAnthropic && isBelow("/v1") {
            self = .anthropic
        } else if isBelow("/v1") {
            self = .openAI
        } else if isBelow("/api") {
            self = .ollama
        } else {
            return nil
        }
    }
}
