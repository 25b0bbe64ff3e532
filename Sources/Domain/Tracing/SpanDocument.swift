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

    /// Adds a span of `SpanTexts`.
    public mutating func append(_ span: Span<UInt8>) {
        if count > 0 { buffer.append(",") }
        buffer.append(span)
        count += 1
    }

    /// The size of the document, in bytes, without its end.
    public var size: Int { buffer.count }

    /// The whole document.
    public func json() -> [UInt8] {
        var buffer = buffer
        buffer.append("],\"schemaUrl\":\"https://opentelemetry.io/schemas/")
        buffer.append(utf8: SpanAttribute.version)
        buffer.append("\"}]}]}")
        return buffer.array
    }
}
