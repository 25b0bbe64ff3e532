import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity

/// The keys of an issuer, and the times at which they are read again. It decides; `KeySetCache` reads.
struct KeySetState: Sendable {
    /// The age at which keys are read again. Until they are, the old ones count.
    static let refreshAge = Duration.seconds(15 * 60)
    /// The age at which keys that could not be read again do not count any more.
    static let maximumAge = Duration.seconds(24 * 3_600)
    /// The time from the start of a read to the next read for a key that is not in the set, so that tokens with invented names of keys
    /// do not make chatterd flood an issuer.
    static let unknownKeyInterval = Duration.seconds(30)
    /// The delay after a read that failed.
    static let backoff = Backoff(first: .seconds(1), longest: unknownKeyInterval)

    /// The answer to a token.
    enum Step {
        /// The key. If `starts`, the caller starts a read, and does not wait for it.
        case found(VerificationKey, starts: Bool)
        /// The caller waits for the read that is under way, and asks once more. If `starts`, the caller starts that read.
        case wait(starts: Bool)
        /// The issuer has no such key.
        case unknown
        /// The keys could not be read; the next read is possible after this time.
        case unavailable(Duration)
    }

    /// The present keys; `nil` before the first read, and beyond `maximumAge`.
    private(set) var keys: VerificationKeySet?
    /// Whether a read is under way.
    private(set) var isReading = false
    /// The problem of the last read; `nil` after a success.
    private(set) var problem: KeySetProblem?

    /// When `keys` were read.
    private var readAt = Instant.distantPast
    /// The start of the last read; `nil` before the first one.
    private var startedAt: Instant?
    /// The instant from which the keys are read again although the token's key is known, or none is.
    private var nextRead = Instant.distantPast
    /// Whether the read that is under way may have begun before a change that the operator knows of.
    private var needsAnotherRead = false
    private var backoff = Self.backoff

    /// Finds the key of a token.
    ///
    /// - Parameter hasWaited: whether a read has ended since the caller asked first. The answer is not `wait` then.
    mutating func step(for token: JSONWebToken, at now: Instant, hasWaited: Bool) -> Step {
        if keys != nil, now - readAt >= Self.maximumAge {
            keys = nil
        }
        if let key = keys?.key(for: token) {
            let starts = !isReading && now >= nextRead
            if starts {
                begin(at: now)
            }
            return .found(key, starts: starts)
        }
        let earliest = keys == nil ? nextRead : startedAt.map { $0 + Self.unknownKeyInterval } ?? now
        if !hasWaited {
            if isReading { return .wait(starts: false) }
            if now >= earliest {
                begin(at: now)
                return .wait(starts: true)
            }
        }
        return problem == nil ? .unknown : .unavailable(max(.zero, earliest - now))
    }

    /// Asks for a read because the operator knows of a change. Unused keys are not read.
    ///
    /// - Returns: whether the caller starts a read.
    mutating func reload(at now: Instant) -> Bool {
        guard startedAt != nil else { return false }
        guard !isReading else {
            needsAnotherRead = true
            return false
        }
        begin(at: now)
        return true
    }

    /// Takes the result of a read.
    ///
    /// - Returns: whether the caller reads again at once.
    mutating func end(_ result: Result<VerificationKeySet, KeySetProblem>, at now: Instant) -> Bool {
        switch result {
        case .success(let fresh):
            keys = fresh
            readAt = now
            nextRead = now + Self.refreshAge
            problem = nil
            backoff.reset()
        case .failure(let failure):
            let refresh = keys == nil ? now : readAt + Self.refreshAge
            nextRead = max(refresh, now + backoff.next())
            problem = failure
        }
        isReading = needsAnotherRead
        needsAnotherRead = false
        if isReading {
            startedAt = now
        }
        return isReading
    }

    private mutating func begin(at now: Instant) {
        isReading = true
        startedAt = now
    }
}

/// The reason why the keys of an issuer cannot be read.
public struct KeySetProblem: Error, Sendable, Equatable {
    /// The reason for the operator: a sentence without any text that the issuer's server sent.
    public let message: String
}
