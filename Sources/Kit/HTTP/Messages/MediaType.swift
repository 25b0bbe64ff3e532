import ChatterdBasics

/// A media type without its parameters, RFC 9110 section 8.3.1, in lower case.
public struct MediaType: Sendable, Hashable {
    /// `type/subtype`.
    public let text: String

    /// Reads the value of a Content-Type field; `nil` when it begins with no `type/subtype`.
    public init?(_ value: String) {
        if let known = Self.known.first(where: { $0.text == value }) {
            self = known
            return
        }
        // Compares bytes, because comparing characters would be the most expensive part of a response's head.
        var essence = value.utf8.prefix { $0 != UInt8(ascii: ";") }
        while let first = essence.first, Grammar.isBlank(first) { essence.removeFirst() }
        while let last = essence.last, Grammar.isBlank(last) { essence.removeLast() }
        guard let slash = essence.firstIndex(of: UInt8(ascii: "/")), Grammar.isToken(essence[..<slash]),
            Grammar.isToken(essence[essence.index(after: slash)...])
        else { return nil }
        text = String(
            decoding: essence.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    private init(known text: String) {
        self.text = text
    }

    /// Whether the type is JSON, by its name or by its suffix (RFC 6839 3.1).
    public var isJSON: Bool { self == .json || text.hasSuffix("+json") }

    /// `application/json`
    public static let json = MediaType(known: "application/json")
    /// `application/x-ndjson`
    public static let ndjson = MediaType(known: "application/x-ndjson")
    /// `text/event-stream`
    public static let eventStream = MediaType(known: "text/event-stream")
    /// `text/html`
    public static let html = MediaType(known: "text/html")

    /// The values that nearly all messages have.
    private static let known = [json, ndjson, eventStream]
}

extension Fields {
    /// The media type of the body; `nil` when there is no Content-Type, or a malformed one.
    public var mediaType: MediaType? {
        self[.contentType].flatMap(MediaType.init)
    }
}
