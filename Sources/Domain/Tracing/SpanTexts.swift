import ChatterdBasics

/// Spans as JSON of OTLP: parts of the work for a request, with their times. They have no text of prompts or answers.
///
/// Each span is written at once from prepared pieces (`begin`, its attributes, `end`), because a prompt has about five spans.
public struct SpanTexts: ~Copyable {
    /// The number that OTLP has for the kind.
    public enum Kind: Int, Sendable {
        case inner = 1
        case server = 2
        case client = 3
    }

    /// The usual size of a span, in bytes.
    private static let usualSize = 512

    private var buffer: ByteBuffer
    /// Where each span that has ended begins, and the end of the last one.
    private var bounds = [0]
    private var hasAttributes = false
    private var isFailed = false

    /// - Parameter count: the expected number of spans.
    public init(expecting count: Int) {
        buffer = ByteBuffer(capacity: Self.usualSize * count)
        bounds.reserveCapacity(count + 1)
    }

    /// The number of spans that have ended.
    public var count: Int { bounds.count - 1 }

    /// The text of a span.
    public subscript(index: Int) -> Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { buffer.bytes.extracting(bounds[index]..<bounds[index + 1]) }
    }

    /// Begins a span.
    ///
    /// - Parameters:
    ///   - context: the span itself.
    ///   - parent: the span that it belongs to; `nil` for the first one of a trace.
    ///   - start: nanoseconds since 1970, like `end`, which is not before it.
    public mutating func begin(
        _ context: TraceContext, in parent: UInt64?, _ kind: Kind, _ name: String, from start: UInt64, to end: UInt64
    ) {
        (hasAttributes, isFailed) = (false, false)
        buffer.append(upTo: 128) { text in
            text.append("{\"traceId\":\"")
            text.append(context.trace)
            text.append("\",\"spanId\":\"")
            text.append(hexadecimal: context.span)
            if let parent {
                text.append("\",\"parentSpanId\":\"")
                text.append(hexadecimal: parent)
            }
            text.append("\"")
        }
        if !context.state.isEmpty {
            buffer.append(",\"traceState\":")
            buffer.append(jsonString: context.state)
        }
        buffer.append(",\"name\":")
        buffer.append(jsonString: name)
        buffer.append(upTo: 128) { text in
            text.append(",\"kind\":")
            text.append(decimal: kind.rawValue)
            // Numbers of 64 bits are texts, as in all JSON of Protocol Buffers.
            text.append(",\"startTimeUnixNano\":\"")
            text.append(decimal: UInt(start))
            text.append("\",\"endTimeUnixNano\":\"")
            text.append(decimal: UInt(max(start, end)))
            text.append("\",\"attributes\":[")
        }
    }

    /// Adds an attribute unless its value is `nil`.
    public mutating func add(_ key: SpanAttribute, _ text: String?) {
        guard let text else { return }
        append(key)
        buffer.append("{\"stringValue\":")
        buffer.append(jsonString: text)
        buffer.append("}}")
    }

    /// Adds an attribute unless its value is `nil`.
    public mutating func add(_ key: SpanAttribute, _ number: Int?) {
        guard let number else { return }
        append(key)
        buffer.append(upTo: 64) { text in
            text.append("{\"intValue\":\"")
            text.append(decimal: number)
            text.append("\"}}")
        }
    }

    private mutating func append(_ key: SpanAttribute) {
        buffer.append(hasAttributes ? ",{\"key\":\"" : "{\"key\":\"")
        buffer.append(utf8: key.rawValue)
        buffer.append("\",\"value\":")
        hasAttributes = true
    }

    /// Marks the span as failed, for a reason that is a word of a closed set.
    public mutating func fail(_ reason: String) {
        isFailed = true
        add(.errorType, reason)
    }

    /// Ends the span.
    ///
    /// - Parameters:
    ///   - firstToken: when the first token of the span came, in nanoseconds since 1970.
    ///   - link: the span of another trace that led to this one.
    public mutating func end(firstToken: UInt64? = nil, link: TraceContext? = nil) {
        buffer.append("]")
        if let firstToken {
            buffer.append(upTo: 96) { text in
                text.append(",\"events\":[{\"timeUnixNano\":\"")
                text.append(decimal: UInt(firstToken))
                text.append("\",\"name\":\"first_token\"}]")
            }
        }
        if let link {
            buffer.append(upTo: 128) { text in
                text.append(",\"links\":[{\"traceId\":\"")
                text.append(link.trace)
                text.append("\",\"spanId\":\"")
                text.append(hexadecimal: link.span)
                text.append("\"}]")
            }
        }
        // 2 is STATUS_CODE_ERROR.
        buffer.append(isFailed ? ",\"status\":{\"code\":2}}" : "}")
        bounds.append(buffer.count)
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
    case state = "chatterd.reply.state"
    case attempts = "chatterd.reply.attempts"
}
