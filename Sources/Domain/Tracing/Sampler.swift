/// Chooses the traces whose spans are recorded: the samplers of OpenTelemetry.
public enum Sampler: Sendable, Equatable {
    /// What decides about a trace that begins here.
    public enum Root: Sendable, Equatable {
        case all
        case none
        /// A share of the traces, from 0 to 1, by their ids: all programs with the same share choose the same traces.
        case share(Double)

        func samples(_ trace: TraceID) -> Bool {
            switch self {
            case .all: true
            case .none: false
            case .share(let share): Double(trace.low & UInt64(Int64.max)) < share * 0x1p63
            }
        }
    }

    /// Every trace is chosen here, whatever the request says.
    case always(Root)
    /// A request that names a trace says whether it is sampled.
    case byParent(else: Root)

    /// The span of a request.
    ///
    /// - Parameters:
    ///   - parent: the span that the request names.
    ///   - trace: the id of the trace if the request names none.
    ///   - span: the id of the span.
    public func span(of parent: TraceContext?, trace: @autoclosure () -> TraceID, span: UInt64) -> TraceContext {
        guard let parent else {
            let trace = trace()
            return TraceContext(newTrace: trace, span: span, isSampled: root.samples(trace))
        }
        let context = parent.with(span: span)
        switch self {
        case .byParent: return context
        case .always(let root): return context.with(isSampled: root.samples(context.trace))
        }
    }

    private var root: Root {
        switch self {
        case .always(let root), .byParent(else: let root): root
        }
    }
}
