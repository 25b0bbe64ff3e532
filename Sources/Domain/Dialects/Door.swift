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
        // A base URL with a slash at its end doubles the first one; the refusal has the form of the door.
        let path = path.utf8.drop { $0 == UInt8(ascii: "/") }
        func isBelow(_ folder: String) -> Bool {
            guard path.starts(with: folder.utf8) else { return false }
            let rest = path.dropFirst(folder.utf8.count)
            return rest.isEmpty || rest.first == UInt8(ascii: "/")
        }
        if isBelow("v1/messages") || namesAnthropic && isBelow("v1") {
            self = .anthropic
        } else if isBelow("v1") {
            self = .openAI
        } else if isBelow("api") {
            self = .ollama
        } else {
            return nil
        }
    }
}
