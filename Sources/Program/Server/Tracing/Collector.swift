import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// A collector of spans: OTLP over HTTP, with JSON. Confined to its shard.
public final class Collector {
    /// What a collector says of a request with spans.
    public enum Answer: Sendable {
        /// It has the spans, except for those that it rejects for a reason.
        case taken(rejected: Int, problem: String?)
        /// It does not take them, and would not do so later.
        case refused(Reason, String)
        /// It may take them later.
        case unavailable(Reason, String)

        /// Why it does not have all spans.
        public var problem: String? {
            switch self {
            case .taken(_, let problem): problem
            case .refused(_, let problem), .unavailable(_, let problem): problem
            }
        }
    }

    /// What keeps a collector from taking spans.
    public enum Reason: Sendable, Equatable {
        /// It has answered with this status.
        case status(Int)
        /// It has not answered in time.
        case silence
        /// Its answer is not one of OTLP over HTTP.
        case form
        /// No program listens at its address.
        case address
        /// Its certificate, or the file with its authorities.
        case certificate
    }

    /// The limit of an answer, in bytes.
    private static let maximumAnswer = 64 << 10

    private let endpoint: Configuration.Tracing.Endpoint
    private let timeout: Duration
    private let authorities: String?
    private let shard: Shard
    private var client: HTTPClient?

    /// - Returns: `nil` without tracing.
    init?(_ settings: Configuration.Tracing, on shard: Shard) {
        guard let endpoint = settings.endpoint else { return nil }
        self.endpoint = endpoint
        timeout = settings.timeout
        authorities = endpoint.origin.scheme == .https ? settings.authorities : nil
        self.shard = shard
    }

    /// Asks the collector of a configuration to take no span; `nil` without tracing.
    public static func probe(_ settings: Configuration.Tracing, on shard: Shard) async -> Answer? {
        await Task(executorPreference: shard) { () async -> Answer? in
            guard let collector = Collector(settings, on: shard) else { return nil }
            return await collector.send(Array(#"{"resourceSpans":[]}"#.utf8), spans: 0, isProbe: true)
        }.value
    }

    /// Throws if the authorities of the collector cannot be used.
    static func check(_ settings: Configuration.Tracing) throws(SocketError) {
        guard settings.endpoint?.origin.scheme == .https, let path = settings.authorities else { return }
        _ = try TLSContext.client(authorities: path)
    }

    /// Sends a batch.
    ///
    /// - Parameter isProbe: Whether an answer in another form than OTLP's is a refusal.
    func send(_ body: [UInt8], spans: Int, isProbe: Bool = false) async -> Answer {
        let client: HTTPClient
        do throws(SocketError) {
            client = try preparedClient()
        } catch {
            return .refused(.certificate, "its authorities cannot be used: \(error.message)")
        }
        var fields = endpoint.fields
        fields.set(.contentType, "application/json")
        let outcome = await CollectedExchange.run(
            OutgoingRequest(.post, endpoint.path, fields: fields, body: body), to: endpoint.origin, client: client,
            on: shard, upTo: Self.maximumAnswer, within: timeout)
        switch outcome {
        case .success(let response):
            let status = response.head.status.code
            if 200..<300 ~= status {
                guard !isProbe || Self.isOfOTLP(response.body) else {
                    return .refused(.form, "the answer is not one of OTLP")
                }
                return Self.taken(spans, response.body)
            }
            let problem = "the collector has answered with status \(status)"
            // Those that OTLP calls retryable.
            return [429, 502, 503, 504].contains(status)
                ? .unavailable(.status(Int(status)), problem) : .refused(.status(Int(status)), problem)
        case .failure(.timedOut): return .unavailable(.silence, "the collector has not answered in time")
        case .failure(.tooLarge):
            return .refused(.form, "the collector's answer has more than \(Self.maximumAnswer) bytes")
        case .failure(.failed(let error)): return .unavailable(Self.reason(of: error), error.message)
        }
    }

    private func preparedClient() throws(SocketError) -> HTTPClient {
        if let client { return client }
        var limits = HTTPClientLimits()
        // The operator has named the collector, and no client can.
        limits.allowsPrivate = true
        let tls = try authorities.map { path throws(SocketError) in try TLSContext.client(authorities: path) }
        let client = HTTPClient(shard: shard, limits: limits, tls: tls)
        self.client = client
        return client
    }

    private static func reason(of error: HTTPClientError) -> Reason {
        switch error.code {
        case .tls: .certificate
        case .malformed, .reset, .cut: .form
        case .connectTimedOut: .silence
        default: .address
        }
    }

    /// Whether an answer of success is a JSON object, or empty.
    private static func isOfOTLP(_ body: ByteBuffer) -> Bool {
        body.isEmpty || (try? JSONSlice(body.array))?.kind == .object
    }

    /// What an answer of success says.
    private static func taken(_ spans: Int, _ body: ByteBuffer) -> Answer {
        guard let partial = (try? JSONSlice(body.array))?.last("partialSuccess", .object) else {
            return .taken(rejected: 0, problem: nil)
        }
        // Numbers of 64 bits are texts in JSON of Protocol Buffers, and some write them as numbers.
        let text = partial.last("rejectedSpans", .string)?.string
        let number = partial.last("rejectedSpans", .number).map { String(decoding: $0.json, as: UTF8.self) }
        guard let rejected = (text ?? number).flatMap({ Int($0) }), rejected > 0 else {
            return .taken(rejected: 0, problem: nil)
        }
        let reason = partial.last("errorMessage", .string)?.string ?? "no reason"
        return .taken(rejected: min(rejected, spans), problem: "the collector has rejected spans: \(reason)")
    }
}
