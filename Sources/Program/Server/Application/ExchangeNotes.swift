import ChatterdBasics
import ChatterdHTTPServer
import ChatterdRelay
import ChatterdSockets

/// What handlers note of an exchange, for its log line, the metrics and the traces.
struct ExchangeNotes: Sendable {
    /// What is known of the reply that the request has begun.
    var facts: Confined<ReplyFacts>?
    /// The span of the request; `nil` without one.
    var trace: RequestTrace?
}

extension Responder {
    /// What is noted of the exchange.
    var notes: ExchangeNotes {
        get { attachment as? ExchangeNotes ?? ExchangeNotes() }
        set { attachment = newValue }
    }
}

extension ExchangeRecord {
    /// What handlers have noted.
    var notes: ExchangeNotes { attachment as? ExchangeNotes ?? ExchangeNotes() }
}
