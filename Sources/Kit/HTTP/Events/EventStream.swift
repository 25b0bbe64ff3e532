/// Event streams, HTML Standard section 9.2.
public enum EventStream {
    public static let mediaType = "text/event-stream"

    static func isOneLine(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 != Grammar.carriageReturn && $0 != Grammar.lineFeed && $0 != 0 }
    }
}
