import ChatterdBasics
import ChatterdChat

/// Chooses the next model server for a reply, and the pause before it. The plan is pure, so that tests can run every course of
/// events.
///
/// Before any output the plan asks the other servers of the model, then the same ones again after a pause. After a break it asks a
/// server that can continue the text; otherwise the reply restarts. A stalled server comes last. If all remaining servers may be
/// restarting, the plan retries them until a deadline. A retry costs no attempt unless the server may have read the request.
struct FailoverPlan {
    /// The next action.
    enum Step: Equatable {
        /// Ask the server with this number among the choices, after a pause. `continues` says whether it continues the text or
        /// starts the answer again.
        case ask(Int, after: Duration, continues: Bool)
        /// The request is at fault: two servers gave the same error.
        case reject
        /// No server is left to try.
        case fail
    }

    /// The content of the reply when its server failed.
    enum Progress: Equatable {
        /// The reply is empty.
        case none
        /// The reply has text, possibly after thoughts. Another server may continue it.
        case text
        /// The reply has tool calls, or too little text to continue.
        case other
    }

    /// The state of a server at the time of the choice.
    struct Candidate: Equatable {
        /// The priority. The greatest comes first.
        var priority = 0
        /// Whether the server is asked after all others.
        var isCoolingDown = false
        /// Its load.
        var load = ServerLoad.free
        /// The preference of the conversation among equal servers. The greatest comes first.
        var affinity: UInt64 = 0
        /// Whether the server can continue the text of another one.
        var canContinue = false
        /// Whether the server has been removed.
        var isRemoved = false
        /// The size of its context in tokens; `nil` if it is unknown or not needed.
        var contextTokens: Int?
    }

    private var failoversLeft: Int
    private var rescuesLeft: Int
    private let longestRetryAfter: Duration
    private let restartWait: Duration
    private var hasFailed = false
    private var hasBegun = false
    /// The first server; a separate member because most replies ask no other one, and need no table.
    private var first: Int?
    /// The failures so far. Most replies have none.
    private var failures = RarelyUsed<FailoverRecord>()
    /// Whether the last step waits for a server that is restarting.
    private(set) var isWaiting = false

    init(_ limits: RelayLimits) {
        failoversLeft = limits.failoverAttempts
        rescuesLeft = limits.rescueAttempts
        longestRetryAfter = limits.longestRetryAfter
        restartWait = limits.restartWait
    }

    private var record: FailoverRecord {
        get { failures.value ?? FailoverRecord() }
        set { failures.update(from: newValue) { $0 = newValue } }
    }

    /// Chooses the first server.
    mutating func begin(_ candidates: [Candidate]) -> Step {
        guard let first = best(of: candidates) else { return .fail }
        self.first = first
        return .ask(first, after: .zero, continues: false)
    }

    /// The next step after a failure at `now` nanoseconds of the monotonic clock.
    mutating func failed(
        _ error: ModelError, by number: Int, after progress: Progress, at now: Instant, _ candidates: [Candidate]
    ) -> Step {
        guard error.hint != .onDemand else { return .fail }
        if error.code == .contextTooLong, !hasFailed, progress == .none {
            return refused(by: number, candidates)
        }
        if progress == .none, case .request(let complaint) = error.hint, isConfirmed(complaint, of: number) {
            return .reject
        }
        // If the context of the first server was large enough, that of another server may be, too.
        guard error.code.isWorthAnotherServer || hasFailed && error.code == .contextTooLong else { return .fail }
        guard !isSameBreak(error, after: progress) else { return .fail }
        hasFailed = true
        hasBegun = hasBegun || progress != .none
        let isFree = noteRestart(error, of: number, at: now)
        guard isFree || attemptsLeft > 0 else { return .fail }
        if !error.code.isTransient || (error.retryAfter ?? .zero) > longestRetryAfter {
            record.excluded.insert(number)
        }
        if error.code.isTimeout {
            record.stalled.insert(number)
        }
        record.retryAfter[number] = error.retryAfter
        let step = next(after: progress, at: now, candidates)
        if step != .fail, !isFree {
            attemptsLeft -= 1
        }
        return step
    }

    /// The next step after a server could not continue the text. The server has not failed, so this costs no attempt.
    mutating func couldNotContinue(
        _ number: Int, after progress: Progress, at now: Instant, _ candidates: [Candidate]
    ) -> Step {
        record.cannotContinue.insert(number)
        record.asked[number, default: 1] -= 1
        return next(after: progress, at: now, candidates)
    }

    /// Chooses a server with a longer context after a server has refused the prompt as too long.
    ///
    /// The refusal is not a failure of the server, so this costs no attempt. No server is asked twice for this reason.
    private mutating func refused(by number: Int, _ candidates: [Candidate]) -> Step {
        record.excluded.insert(number)
        guard let context = candidates[number].contextTokens else { return .fail }
        record.excluded.formUnion(
            candidates.indices.filter { candidates[$0].contextTokens.map { $0 <= context } ?? false })
        guard let longer = best(of: candidates, where: { $1.contextTokens != nil }) else { return .fail }
        record.asked[longer, default: 0] += 1
        return .ask(longer, after: .zero, continues: false)
    }

    /// Chooses the next server if the chosen one was removed before it was asked. This costs no attempt.
    mutating func removed(after progress: Progress, at now: Instant, _ candidates: [Candidate]) -> Step {
        next(after: progress, at: now, candidates)
    }

    /// Records a server's error about the request. Returns whether another server gave the same error before.
    ///
    /// A repetition by the same server proves nothing: a broken server gives the same error each time.
    private mutating func isConfirmed(_ complaint: String, of number: Int) -> Bool {
        guard let first = record.complaints[complaint] else {
            record.complaints[complaint] = number
            return false
        }
        return first != number
    }

    private var attemptsLeft: Int {
        get { hasBegun ? rescuesLeft : failoversLeft }
        set {
            if hasBegun { rescuesLeft = newValue } else { failoversLeft = newValue }
        }
    }

    /// Whether the answer broke off with the same context error as before. Servers with the same context size repeat it.
    private mutating func isSameBreak(_ error: ModelError, after progress: Progress) -> Bool {
        guard progress != .none, error.hint == .context, error.code == .failed else { return false }
        defer { record.lastBreak = error }
        return record.lastBreak?.message == error.message
    }

    /// Records whether a server may be restarting. Returns whether the failure costs no attempt, because the server cannot have
    /// read the request.
    private mutating func noteRestart(_ error: ModelError, of number: Int, at now: Instant) -> Bool {
        guard case .restart(let wasRead) = error.hint, error.retryAfter == nil, restartWait > .zero else {
            record.restarting = []
            record.waitEnd = nil
            record.waits.reset()
            return false
        }
        record.restarting.insert(number)
        record.waitEnd = record.waitEnd ?? now + restartWait
        return !wasRead
    }

    private mutating func next(after progress: Progress, at now: Instant, _ candidates: [Candidate]) -> Step {
        var next: Int?
        if progress == .text {
            next = best(of: candidates) { number, candidate in
                candidate.canContinue && !candidate.isCoolingDown && !record.stalled.contains(number)
                    && !record.restarting.contains(number) && !record.cannotContinue.contains(number)
            }
        }
        let isOver = record.waitEnd.map { now >= $0 } ?? false
        guard
            let next = next
                ?? best(of: candidates, where: { number, _ in !isOver || !record.restarting.contains(number) })
        else { return .fail }
        isWaiting = record.restarting.contains(next)
        let pause = pause(before: next, at: now)
        record.asked[next, default: 0] += 1
        let continues = progress == .text && candidates[next].canContinue && !record.cannotContinue.contains(next)
        return .ask(next, after: pause, continues: continues)
    }

    /// The delay before a request. A server that was asked before gets time to recover.
    private mutating func pause(before number: Int, at now: Instant) -> Duration {
        if let waitEnd = record.waitEnd, record.restarting.contains(number) {
            return min(record.waits.next(), max(waitEnd - now, .zero))
        }
        guard timesAsked(number) > 0 else { return .zero }
        return max(record.pauses.next(), record.retryAfter[number] ?? .zero)
    }

    private func timesAsked(_ number: Int) -> Int { record.asked[number, default: 0] + (number == first ? 1 : 0) }

    private func best(of candidates: [Candidate], where isFit: (Int, Candidate) -> Bool = { _, _ in true }) -> Int? {
        candidates.indices.filter {
            !record.excluded.contains($0) && !candidates[$0].isRemoved && isFit($0, candidates[$0])
        }.min { rank($0, candidates[$0]) < rank($1, candidates[$1]) }
    }

    /// The rank of a server. The lowest comes first; of equal ones, the one with the lowest number.
    private func rank(_ number: Int, _ candidate: Candidate) -> (Int, Int, Int, Int, ServerLoad, UInt64) {
        (
            record.stalled.contains(number) ? 1 : 0, candidate.isCoolingDown ? 1 : 0, timesAsked(number),
            -candidate.priority, candidate.load, .max - candidate.affinity
        )
    }
}

/// Whether a model server should get another request.
enum ServerLoad: Int, Comparable {
    /// The server has a free slot, and no more than its share of the requests.
    case free
    /// The server has a free slot, but more than its share.
    case aboveShare
    /// All slots of the server are in use.
    case full

    static func < (one: ServerLoad, other: ServerLoad) -> Bool { one.rawValue < other.rawValue }

    /// The most requests that one of several equal servers gets while another one has fewer: a quarter more than the average, with the next
    /// request.
    ///
    /// - Parameters:
    ///   - running: the requests that run at all of them.
    ///   - servers: their number; at least 1.
    static func share(of running: Int, among servers: Int) -> Int {
        // Rounded up, so that a server always has room.
        (5 * (running + 1) + 4 * servers - 1) / (4 * servers)
    }
}
