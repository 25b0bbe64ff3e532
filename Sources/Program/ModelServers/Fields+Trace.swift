import ChatterdHTTP
import ChatterdTracing

extension Fields {
    /// Sets the fields of W3C Trace Context.
    public mutating func set(_ trace: TraceContext) {
        if let value = FieldValue(validating: trace.traceparent) { set(.traceparent, value) }
        if !trace.state.isEmpty, let value = FieldValue(validating: trace.state) { set(.tracestate, value) }
    }
}
