import ChatterdBasics
import ChatterdCryptography
import ChatterdIdentity
import ChatterdJSONLog
import ChatterdRelay
import ChatterdSockets

/// The keys of an issuer, read when a token needs them and again when they are old, for all shards of the process.
///
/// At most one read is under way; requests that need its result wait for it. `KeySetState` has the times.
final class KeySetCache: Sendable {
    /// Reads the keys. Runs in a task of its own, off the shards.
    typealias Read = @Sendable () async -> Result<VerificationKeySet, KeySetProblem>

    private struct State {
        var keys = KeySetState()
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let issuer: String
    private let log: Log
    private let now: @Sendable () -> Instant
    private let read: Read
    private let state = Lock(State())

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - issuer: the name for the log.
    ///   - now: the monotonic clock; safe on any thread.
    init(issuer: String, log: Log, now: @escaping @Sendable () -> Instant, read: @escaping Read) {
        self.issuer = issuer
        self.log = log
        self.now = now
        self.read = read
    }

    /// The key of a token; `nil` if the issuer has none of its name and algorithm.
    ///
    /// - Throws: `issuerUnavailable` if the keys cannot be read.
    func key(for token: JSONWebToken) async throws(RelayError) -> VerificationKey? {
        var hasWaited = false
        while true {
            let time = now()
            let isLast = hasWaited
            switch state.withLock({ $0.keys.step(for: token, at: time, hasWaited: isLast) }) {
            case .found(let key, let starts):
                if starts {
                    start()
                }
                return key
            case .wait(let starts):
                if starts {
                    start()
                }
                await waitForRead()
                hasWaited = true
            case .unknown:
                return nil
            case .unavailable(let delay):
                throw Self.unavailable(for: delay)
            }
        }
    }

    /// Reads the keys again, if they were ever needed.
    func reload() {
        let time = now()
        if state.withLock({ $0.keys.reload(at: time) }) {
            start()
        }
    }

    private static func unavailable(for delay: Duration) -> RelayError {
        var error = RelayError(
            AccessError(
                .issuerUnavailable,
                "The token cannot be checked, because the keys of its issuer cannot be read at the moment. Try again later."
            ))
        error.retryAfter = delay
        return error
    }

    private func waitForRead() async {
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                guard state.keys.isReading else { return false }
                state.waiting.append(continuation)
                return true
            }
            if !waits {
                continuation.resume()
            }
        }
    }

    /// Starts the read for which the state was prepared. Its task outlives the request that needs it first.
    private func start() {
        Task.detached { [self] in
            while end(await read()) {}
        }
    }

    /// Takes the result of a read. Returns whether another read follows.
    private func end(_ result: Result<VerificationKeySet, KeySetProblem>) -> Bool {
        let time = now()
        let (old, continues, waiting) = state.withLock { state in
            let old = state.keys
            let continues = state.keys.end(result, at: time)
            let waiting = continues ? [] : state.waiting
            state.waiting.removeFirst(waiting.count)
            return (old, continues, waiting)
        }
        report(result, after: old)
        for continuation in waiting {
            continuation.resume()
        }
        return continues
    }

    /// Logs new keys, and each problem once until it changes.
    private func report(_ result: Result<VerificationKeySet, KeySetProblem>, after old: KeySetState) {
        switch result {
        case .failure(let problem):
            guard old.problem != problem else { return }
            log.event(.warning, "keys of an issuer not read", .issuer(issuer), .error(problem.message))
        case .success(let keys):
            guard old.problem != nil || old.keys?.ids != keys.ids else { return }
            if keys.ids.isEmpty {
                log.event(
                    .warning, "issuer without usable keys", .issuer(issuer),
                    .detail("\(keys.ignoredKeys) keys are of other kinds, or have no kid"))
            } else {
                log.event(.info, "keys of an issuer read", .issuer(issuer), .count(keys.ids.count))
            }
        }
    }
}
