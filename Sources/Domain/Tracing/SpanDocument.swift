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

    /// The document of spans.
    public func json(_ spans: [TraceSpan]) -> ByteBuffer {
        var buffer = ByteBuffer(capacity: 512 * (spans.count + 1))
        buffer.appendJSON { json in
            json.object { json in
                json.array("resourceSpans") { json in
                    json.object { json in
                        json.object("resource") { json in
                            json.array("attributes") { json in
                                for (key, value) in resource { json.attribute(key, .text(value)) }
                            }
                        }
                        json.array("scopeSpans") { json in
                            json.object { json in
                                json.object("scope") { json in
                                    json.member("name", "chatterd")
                                    json.member("version", version)
                                }
                                json.array("spans") { json in
                                    for span in spans { json.span(span) }
                                }
                                json.member(
                                    "schemaUrl", "https://opentelemetry.io/schemas/\(SpanAttribute.version)")
                            }
                        }
                    }
                }
            }
        }
        return buffer
    }
}

extension JSONWriter {
    fileprivate mutating func span(_ span: TraceSpan) {
        object { json in
            json.hexadecimal("traceId") { $0.append(span.context.trace) }
            json.hexadecimal("spanId") { $0.append(hexadecimal: span.context.span) }
            if let parent = span.parent { json.hexadecimal("parentSpanId") { $0.append(hexadecimal: parent) } }
            if !span.context.state.isEmpty { json.member("traceState", span.context.state) }
            json.member("name", span.name)
            json.member("kind", span.kind.rawValue)
            // Numbers of 64 bits are texts, as in all JSON of Protocol Buffers.
            json.member("startTimeUnixNano", "\(span.start)")
            json.member("endTimeUnixNano", "\(span.end)")
            json.array("attributes") { json in
                for (key, value) in span.attributes { json.attribute(key.rawValue, value) }
            }
            if !span.events.isEmpty {
                json.array("events") { json in
                    for event in span.events {
                        json.object { json in
                            json.member("timeUnixNano", "\(event.time)")
                            json.member("name", "\(event.name)")
                        }
                    }
                }
            }
            if !span.links.isEmpty {
                json.array("links") { json in
                    for link in span.links {
                        json.object { json in
                            json.hexadecimal("traceId") { $0.append(link.trace) }
                            json.hexadecimal("spanId") { $0.append(hexadecimal: link.span) }
                        }
                    }
                }
            }
            // 2 is STATUS_CODE_ERROR.
            if span.isFailed { json.object("status") { $0.member("code", 2) } }
        }
    }

    fileprivate mutating func attribute(_ key: String, _ value: TraceSpan.Value) {
        object { json in
            json.member("key", key)
            json.object("value") { json in
                switch value {
                case .text(let text): json.member("stringValue", text)
                case .number(let number): json.member("intValue", "\(number)")
                case .texts(let texts):
                    json.object("arrayValue") { json in
                        json.array("values") { json in
                            for text in texts { json.object { $0.member("stringValue", text) } }
                        }
                    }
                }
            }
        }
    }

    private mutating func hexadecimal(_ name: String, _ digits: (inout ByteBuffer) -> Void) {
        self.name(name)
        raw { buffer in
            buffer.append("\"")
            digits(&buffer)
            buffer.append("\"")
        }
    }
}
