import ChatterdBasics
import ChatterdChat

/// The health of a model server, shared by all shards of the process. After failures the server cools down for a while.
public final class UpstreamHealth: Sendable {
    /// The state of a server.
    public enum State: String, Sendable, CaseIterable {
        /// No request to the server has ended yet.
        case unknown
        /// The server answers.
        case healthy
        /// The server has failed, and is asked last for a while.
        case coolingDown = "cooling_down"
        /// The server has cooled down, and one reply tries it.
        case probing
    }

    private struct Record {
        /// Whether a request to the server has ended, with or without an error.
        var isKnown = false
        var failures = 0
        var coolsUntil: Instant?
        /// The duration of the last cooling down.
        var cooling = Duration.zero
        var isProbed = false
        var running = 0

        mutating func addFailure(_ error: ModelError, at now: Instant) {
            failures += 1
            let wasProbed = isProbed
            isProbed = false
            if let retryAfter = error.retryAfter {
                cool(for: min(retryAfter, UpstreamHealth.longestRetryAfter), from: now)
            } else if wasProbed || failures >= UpstreamHealth.failureLimit || error.code.coolsDownAtOnce {
                cooling = min(max(cooling * 2, UpstreamHealth.shortest), UpstreamHealth.longest)
                cool(for: cooling, from: now)
            }
        }

        mutating func cool(for duration: Duration, from now: Instant) {
            coolsUntil = max(coolsUntil ?? now, now + duration)
        }
    }

    /// The number of consecutive failures after which a server cools down.
    private static let failureLimit = 3
    /// The first and the longest duration of a cooling down.
    private static let shortest = Duration.seconds(5)
    private static let longest = Duration.seconds(60)
    /// The longest cooling down that a server may request (`Retry-After`).
    private static let longestRetryAfter = Duration.seconds(600)

    private let record = Lock(Record())

    /// Creates the health of a server without requests.
    public init() {}

    /// The state at `now`.
    public func state(at now: Instant) -> State {
        record.withLock { record in
            guard let coolsUntil = record.coolsUntil else { return record.isKnown ? .healthy : .unknown }
            return now >= coolsUntil ? .probing : .coolingDown
        }
    }

    /// The time for which the server still cools down; zero for one that does not.
    public func cooldown(at now: Instant) -> Duration {
        record.withLock { record in record.coolsUntil.map { max(.zero, $0 - now) } ?? .zero }
    }

    /// Whether the server is asked after all others, because it cools down or another reply is trying it.
    func isCoolingDown(at now: Instant) -> Bool {
        record.withLock { record in
            guard let coolsUntil = record.coolsUntil else { return false }
            return now < coolsUntil || record.isProbed
        }
    }

    /// The number of running requests of this process.
    public var running: Int { record.withLock(\.running) }

    /// Records the start of a request; `recordAnswer`, `recordFailure` or `recordNoVerdict` follows.
    func recordRequest(at now: Instant) {
        record.withLock { record in
            record.running += 1
            if let coolsUntil = record.coolsUntil, now >= coolsUntil {
                record.isProbed = true
            }
        }
    }

    /// Records that the server has answered, or refused a request that no server could fulfil.
    func recordAnswer() {
        record.withLock { record in
            record = Record(isKnown: true, running: record.running - 1)
        }
    }

    /// Records the end of a request that gives no information about the server, for example a cancelled one.
    func recordNoVerdict() {
        record.withLock { record in
            record.running -= 1
            record.isProbed = false
        }
    }

    /// Records that the server has failed.
    func recordFailure(_ error: ModelError, at now: Instant) {
        record.withLock { record in
            record.isKnown = true
            record.running -= 1
            record.addFailure(error, at: now)
        }
    }

    /// Records a failure after `recordNoVerdict`.
    func recordLateFailure(_ error: ModelError, at now: Instant) {
        record.withLock { $0.addFailure(error, at: now) }
    }
}

extension ModelError.Code {
    /// Whether the server itself is at fault, and not the request.
    var blamesServer: Bool {
        switch self {
        case .modelNotFound, .rejected, .contextTooLong, .unsupported, .answerTooLarge, .totalTimeout: false
        default: true
        }
    }

    /// Whether one failure is enough for a cooling down: the server is unreachable, or its key is wrong.
    fileprivate var coolsDownAtOnce: Bool { self == .unavailable || self == .connectTimeout || self == .unauthorized }

    /// Whether the error is a timeout.
    var isTimeout: Bool { self == .firstByteTimeout || self == .silenceTimeout || self == .connectTimeout }

    /// Whether the same request to the same server may succeed later.
    var isTransient: Bool {
        switch self {
        case .unavailable, .connectTimeout, .busy, .failed, .malformed, .incomplete, .silenceTimeout: true
        default: false
        }
    }
}
