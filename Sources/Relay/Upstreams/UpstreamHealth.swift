import ChatterdBasics
import ChatterdLanguageModels

/// How a model server has been doing, for all shards of the process: after failures it is left alone for a while.
public final class UpstreamHealth: Sendable {
    /// What is known of it.
    public enum State: String, Sendable, CaseIterable {
        /// No request to the server has ended yet.
        case unknown
        /// The server answers.
        case healthy
        /// It has failed, and is left alone.
        case coolingDown = "cooling_down"
        /// It has been left alone for long enough, and one reply tries it.
        case probing
    }

    private struct Record {
        /// Whether a request to the server has ended, with or without an error.
        var isKnown = false
        var failures = 0
        var coolsUntil: Instant?
        /// How long it was left alone last.
        var cooling = Duration.zero
        var isProbed = false
        var running = 0

        mutating func failed(_ error: ModelError, at now: Instant) {
            failures += 1
            let wasProbed = isProbed
            isProbed = false
            if let retryAfter = error.retryAfter {
                cool(for: min(retryAfter, UpstreamHealth.longestWish), from: now)
            } else if wasProbed || failures >= UpstreamHealth.failureLimit || error.code.saysAllInOne {
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
    /// How long it is left alone, at first and at most.
    private static let shortest = Duration.seconds(5)
    private static let longest = Duration.seconds(60)
    /// How long it is left alone at its own wish, at most.
    private static let longestWish = Duration.seconds(600)

    private let record = Lock(Record())

    /// Makes the health of one that has not been asked.
    public init() {}

    /// What is known of it at `now`.
    public func state(at now: Instant) -> State {
        record.withLock { record in
            guard let coolsUntil = record.coolsUntil else { return record.isKnown ? .healthy : .unknown }
            return now >= coolsUntil ? .probing : .coolingDown
        }
    }

    /// Whether it is to be asked after all others: it cools down, or somebody else tries it at this moment.
    func isCoolingDown(at now: Instant) -> Bool {
        record.withLock { record in
            guard let coolsUntil = record.coolsUntil else { return false }
            return now < coolsUntil || record.isProbed
        }
    }

    /// The replies of this process that it makes.
    var running: Int { record.withLock(\.running) }

    /// It is asked for a reply; `answered`, `failed` or `leftAlone` follows.
    func begin(at now: Instant) {
        record.withLock { record in
            record.running += 1
            if let coolsUntil = record.coolsUntil, now >= coolsUntil {
                record.isProbed = true
            }
        }
    }

    /// It has made the reply, or refused what nobody could have done.
    func answered() {
        record.withLock { record in
            record = Record(isKnown: true, running: record.running - 1)
        }
    }

    /// Nobody wants the reply any more.
    func leftAlone() {
        record.withLock { record in
            record.running -= 1
            record.isProbed = false
        }
    }

    /// It has failed.
    func failed(_ error: ModelError, at now: Instant) {
        record.withLock { record in
            record.isKnown = true
            record.running -= 1
            record.failed(error, at: now)
        }
    }

    /// Records a failure after `leftAlone`.
    func blame(_ error: ModelError, at now: Instant) {
        record.withLock { $0.failed(error, at: now) }
    }
}

extension ModelError.Code {
    /// Whether the server itself is at fault, and not what it was asked.
    var isOfTheServer: Bool {
        switch self {
        case .modelNotFound, .rejected, .contextTooLong, .unsupported, .answerTooLarge, .totalTimeout: false
        default: true
        }
    }

    /// Whether once is enough: nobody there, or a wrong key.
    fileprivate var saysAllInOne: Bool { self == .unavailable || self == .connectTimeout || self == .unauthorized }

    /// Whether the error is a timeout.
    var isTimeout: Bool { self == .firstByteTimeout || self == .silenceTimeout || self == .connectTimeout }

    /// Whether the same server may do better a moment later.
    var mayPass: Bool {
        switch self {
        case .unavailable, .connectTimeout, .busy, .failed, .malformed, .incomplete, .silenceTimeout: true
        default: false
        }
    }
}
