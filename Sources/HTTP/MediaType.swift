/// A media type without its parameters, RFC 9110 section 8.3.1, in lower case.
public struct MediaType: Sendable, Hashable {
    /// `type/subtype`.
    public let text: String

    /// Reads the value of a Content-Type field; nil when it begins with no `type/subtype`.
    public init?(_ value: String) {
        let essence = value.prefix { $0 != ";" }.trimmingBlanks()
        let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ Grammar.isToken($0.utf8) }) else { return nil }
        text = essence.lowercased()
    }

    private init(known text: String) {
        self.text = text
    }

    /// Whether it is JSON, by its own name or as a suffix (RFC 6839 3.1).
    public var isJSON: Bool { self == .json || text.hasSuffix("+json") }

    /// `application/json`
    public static let json = MediaType(known: "application/json")
    /// `application/x-ndjson`
    public static let ndjson = MediaType(known: "application/x-ndjson")
    /// `text/event-stream`
    public static let eventStream = MediaType(known: "text/event-stream")
    /// `text/html`
    public static let html = MediaType(known: "text/html")
}

extension Fields {
    /// The media type of the body; nil when there is no Content-Type, or a malformed one.
    public var mediaType: MediaType? {
        self[.contentType].flatMap(MediaType.init)
    }
}
