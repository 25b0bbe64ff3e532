import ChatterdBasics

/// A request of OTLP over HTTP with spans, as JSON (`ExportTraceServiceRequest`).
public struct SpanDocument: Sendable {
    /// The attributes of the process, such as `service.name`.
    private let resource: [(key: String, value: String)]
    private let version: String

    /// - Parameter version: that of chatterd.
    public init(resource: [(key: String, value: String)], version: String) {
        self.resource = resource
        self.version = version
    }

    /// The document of spans. It is written from prepared pieces, because each prompt has some six spans.
    public func json(_ spans: [TraceSpan]) -> ByteBuffer {
        var buffer = ByteBuffer(capacity: 512 * (spans.count + 1))
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
        for (index, span) in spans.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.append(span)
        }
        buffer.append("],\"schemaUrl\":\"https://opentelemetry.io/schemas/")
        buffer.append(utf8: SpanAttribute.version)
        buffer.append("\"}]}]}")
        return buffer
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ span: TraceSpan) {
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
