/// A part of the work for a request, with its times. It has no text of prompts or answers.
public struct TraceSpan: Sendable {
    /// The number that OTLP has for the kind.
    public enum Kind: Int, Sendable {
        case inner = 1
        case server = 2
        case client = 3
    }

    /// The value of an attribute.
    public enum Value: Sendable {
        case text(String)
        case number(Int)
    }

    /// A moment within the span.
    public struct Event: Sendable {
        public let name: StaticString
        /// Nanoseconds since 1970.
        public let time: UInt64
    }

    /// The span itself.
    public let context: TraceContext
    /// The span that it belongs to; `nil` for the first one of a trace.
    public let parent: UInt64?
    public let kind: Kind
    public let name: String
    /// Nanoseconds since 1970.
    public let start: UInt64
    public let end: UInt64
    public private(set) var attributes: [(key: SpanAttribute, value: Value)] = []
    public var events: [Event] = []
    /// Spans of other traces that led to this one.
    public var links: [TraceContext] = []
    /// Whether the work has failed.
    public private(set) var isFailed = false

    public init(
        _ context: TraceContext, in parent: UInt64?, _ kind: Kind, _ name: String, from start: UInt64, to end: UInt64
    ) {
        (self.context, self.parent, self.kind, self.name) = (context, parent, kind, name)
        (self.start, self.end) = (start, max(start, end))
    }

    /// Adds an attribute unless its value is `nil`.
    public mutating func add(_ key: SpanAttribute, _ text: String?) {
        if let text { add(key, .text(text)) }
    }

    /// Adds an attribute unless its value is `nil`.
    public mutating func add(_ key: SpanAttribute, _ number: Int?) {
        if let number { add(key, .number(number)) }
    }

    private mutating func add(_ key: SpanAttribute, _ value: Value) {
        // A span has none or several.
        if attributes.isEmpty { attributes.reserveCapacity(6) }
        attributes.append((key, value))
    }

    /// Adds a moment.
    public mutating func add(event name: StaticString, at time: UInt64) {
        events.append(Event(name: name, time: time))
    }

    /// Marks the span as failed, for a reason that is a word of a closed set.
    public mutating func fail(_ reason: String) {
        isFailed = true
        add(.errorType, reason)
    }
}

/// The attributes of spans: those of OpenTelemetry's semantic conventions of `version`, and chatterd's own.
public enum SpanAttribute: String, Sendable, CaseIterable {
    /// The version of the semantic conventions.
    public static let version = "1.37.0"

    case method = "http.request.method"
    case route = "http.route"
    case status = "http.response.status_code"
    case errorType = "error.type"
    case operation = "gen_ai.operation.name"
    case provider = "gen_ai.provider.name"
    case requestModel = "gen_ai.request.model"
    case inputTokens = "gen_ai.usage.input_tokens"
    case outputTokens = "gen_ai.usage.output_tokens"
    case upstream = "chatterd.upstream"
    case requestID = "chatterd.request.id"
    case replyID = "chatterd.reply.id"
    case state = "chatterd.reply.state"
    case attempts = "chatterd.reply.attempts"
}
