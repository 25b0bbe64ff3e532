import ChatterdBasics

/// The name of an event of an event stream (HTML Standard, section 9.2): one line without NUL.
public struct EventName: Sendable, Hashable {
    public let text: String

    /// Creates a name; `nil` for text that is empty or holds CR, LF or NUL.
    public init?(_ text: String) {
        let isOneLine = text.utf8.allSatisfy { $0 != Grammar.carriageReturn && $0 != Grammar.lineFeed && $0 != 0 }
        guard !text.isEmpty, isOneLine else { return nil }
        self.text = text
    }

    private init(known text: String) {
        self.text = text
    }

    public static let error = EventName(known: "error")
    public static let queue = EventName(known: "queue")
    public static let step = EventName(known: "step")
    public static let reset = EventName(known: "reset")
    public static let toolCalls = EventName(known: "tool_calls")
    public static let location = EventName(known: "latlon")
    public static let conversation = EventName(known: "conversation")
    public static let prompt = EventName(known: "prompt")
    public static let reply = EventName(known: "reply")
    public static let end = EventName(known: "end")
    public static let choice = EventName(known: "choice")
    public static let settings = EventName(known: "settings")
    public static let deleted = EventName(known: "deleted")
}
