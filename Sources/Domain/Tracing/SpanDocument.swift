import ChatterdBasics

/// What all requests to a collector have in common (OTLP over HTTP, with JSON).
public struct SpanDocument: Sendable {
    private let opening: [UInt8]

    /// - Parameters:
    ///   - resource: the attributes of the process, such as `service.name`.
    ///   - version: that of chatterd.
    public init(resource: [(key: String, value: String)], version: String) {
        var buffer = ByteBuffer()
        buffer.append("{\"resourceSpans\":[{\"resource\":{\"attributes\":[")
        for (index, (key, value)) in resource.enumerated() {
            buffer.append(index == 0 ? "{\"key\":" : ",{\"key\":")
            buffer.append(jsonString: key)
            buffer.append(",\"value\":{\"stringValue\":")
            buffer.append(jsonString: value)
            buffer.append("}}")
        }
        buffer.append("]},\"scopeSpans\":[{\"scope\":{\"name\":\"chatterd\",\"version\":")
        buffer.append(jsonString: version)
        buffer.append("},\"spans\":[")
        opening = buffer.array
    }

    /// An empty batch.
    public func makeBatch() -> SpanBatch { SpanBatch(opening: opening) }
}

/// A request to a collector, as JSON (`ExportTraceServiceRequest`), which grows by one span at a time.
public struct SpanBatch: Sendable {
    private var buffer: ByteBuffer
    /// The number of spans.
    public private(set) var count = 0

    fileprivate init(opening: [UInt8]) {
        buffer = ByteBuffer(capacity: opening.count)
        buffer.append(opening)
    }

    /// Adds a span, as `ByteBuffer.append(_: TraceSpan)` writes it.
    public mutating func append(_ span: Span<UInt8>) {
        if count > 0 { buffer.append(",") }
        buffer.append(span)
        count += 1
    }

    /// The whole document.
    public consuming func json() -> [UInt8] {
        buffer.append("],\"schemaUrl\":\"https://opentelemetry.io/schemas/")
        buffer.append(utf8: SpanAttribute.version)
        buffer.append("\"}]}]}")
        return buffer.array
    }
}

extension ByteBuffer {
    /// Appends the JSON of a span. It is written from prepared pieces, because each prompt has some six spans.
    public mutating func append(_ span: TraceSpan) {
        append("{\"traceId\":\"")
        append(span.context.trace)
        append("\",\"spanId\":\"")
        append(hexadecimal: span.context.span)
        if let parent = span.parent {
            append("\",\"parentSpanId\":\"")
            append(hexadecimal: parent)
        }
        append("\"")
        if !span.context.state.isEmpty {
            append(",\"traceState\":")
            append(jsonString: span.context.state)
        }
        append(",\"name\":")
        append(jsonString: span.name)
        append(",\"kind\":")
        append(decimal: span.kind.rawValue)
        // Numbers of 64 bits are texts, as in all JSON of Protocol Buffers.
        append(",\"startTimeUnixNano\":\"")
        append(decimal: UInt(span.start))
        append("\",\"endTimeUnixNano\":\"")
        append(decimal: UInt(span.end))
        append("\",\"attributes\":[")
        for (index, (key, value)) in span.attributes.enumerated() {
            append(index == 0 ? "{\"key\":\"" : ",{\"key\":\"")
            append(utf8: key.rawValue)
            switch value {
            case .text(let text):
                append("\",\"value\":{\"stringValue\":")
                append(jsonString: text)
            case .number(let number):
                append("\",\"value\":{\"intValue\":\"")
                append(decimal: number)
                append("\"")
            }
            append("}}")
        }
        append("]")
        appendMoments(of: span)
        // 2 is STATUS_CODE_ERROR.
        append(span.isFailed ? ",\"status\":{\"code\":2}}" : "}")
    }

    private mutating func appendMoments(of span: TraceSpan) {
        if !span.events.isEmpty {
            append(",\"events\":[")
            for (index, event) in span.events.enumerated() {
                append(index == 0 ? "{\"timeUnixNano\":\"" : ",{\"timeUnixNano\":\"")
                append(decimal: UInt(event.time))
                append("\",\"name\":\"")
                append(event.name)
                append("\"}")
            }
            append("]")
        }
        if !span.links.isEmpty {
            append(",\"links\":[")
            for (index, link) in span.links.enumerated() {
                append(index == 0 ? "{\"traceId\":\"" : ",{\"traceId\":\"")
                append(link.trace)
                append("\",\"spanId\":\"")
                append(hexadecimal: link.span)
                append("\"}")
            }
            append("]")
        }
    }
}
