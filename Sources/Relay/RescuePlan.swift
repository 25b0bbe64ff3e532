import LanguageModels

/// Which model server is asked next for a reply, and when: pure, so that every course of events can be tried.
///
/// Before a reply has begun: the other servers of the model, then the same ones again after a while. In its middle: one that
/// goes on behind the text there is; otherwise the reply is begun anew.
struct RescuePlan {
    /// What is to be done.
    enum Step: Equatable {
        /// Ask the server of this number among the choices, after a pause; it goes on behind the text, or begins anew.
        case ask(Int, after: Duration, goOn: Bool)
        /// There is nothing left to try.
        case fail
    }

    /// How far the reply had got when its server failed.
    enum Progress: Equatable {
        /// There is nothing of it yet.
        case none
        /// There is text, perhaps behind thoughts: another server may go on behind it.
        case text
        /// There are tool calls, or too little text to go on with.
        case other
    }

    /// What is known of a server at the moment of the choice.
    struct Candidate: Equatable {
        /// Its priority: the greatest goes first.
        var priority = 0
        /// Whether it is to be asked after all others.
        var isUnwilling = false
        /// Whether all its slots are taken.
        var isFull = false
        /// Whether it can go on with what another one began.
        var goesOn = false
        /// Whether it is there no more.
        var isGone = false
        /// The tokens that it takes, where that is known and matters.
        var context: Int?
    }

    /// The pause before a server is asked again, at first and at most.
    private static let shortestPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(4)

    private var failoversLeft: Int
    private var rescuesLeft: Int
    private let longestRetryAfter: Duration
    private var hasFailed = false
    private var hasBegun = false
    private var pauses = 0
    /// The first that was asked: most replies need no table.
    private var first: Int?
    /// How often each one was asked after that, and for how long it asks to be left alone; nothing for those that will never do.
    private var asked: [Int: Int] = [:]
    private var retryAfter: [Int: Duration] = [:]
    private var excluded: Set<Int> = []

    init(_ limits: RelayLimits) {
        failoversLeft = limits.failoverAttempts
        rescuesLeft = limits.rescueAttempts
        longestRetryAfter = limits.longestRetryAfter
    }

    /// The first to be asked.
    mutating func begin(_ candidates: [Candidate]) -> Step {
        guard let first = best(of: candidates) else { return .fail }
        self.first = first
        return .ask(first, after: .zero, goOn: false)
    }

    /// The next to be asked when one has failed.
    mutating func failed(
        _ error: ModelError, by number: Int, after progress: Progress, _ candidates: [Candidate]
    ) -> Step {
        if error.code == .contextTooLong, !hasFailed, progress == .none {
            return refused(by: number, candidates)
        }
        // Where the first one had room, others may have it too.
        guard error.code.isWorthAnotherServer || hasFailed && error.code == .contextTooLong else { return .fail }
        hasFailed = true
        hasBegun = hasBegun || progress != .none
        guard (hasBegun ? rescuesLeft : failoversLeft) > 0 else { return .fail }
        if !error.code.mayPass || (error.retryAfter ?? .zero) > longestRetryAfter {
            excluded.insert(number)
        }
        retryAfter[number] = error.retryAfter
        let step = next(after: progress, candidates)
        guard step != .fail else { return .fail }
        if hasBegun {
            rescuesLeft -= 1
        } else {
            failoversLeft -= 1
        }
        return step
    }

    /// The next to be asked when a prompt is too long for one by itself: one that is known to take more.
    ///
    /// It is asked in place of the other and not because that has failed, so it costs no attempt. None is asked twice for it.
    private mutating func refused(by number: Int, _ candidates: [Candidate]) -> Step {
        excluded.insert(number)
        guard let context = candidates[number].context else { return .fail }
        excluded.formUnion(candidates.indices.filter { candidates[$0].context.map { $0 <= context } ?? false })
        guard let longer = best(of: candidates, where: { $0.context != nil }) else { return .fail }
        asked[longer, default: 0] += 1
        return .ask(longer, after: .zero, goOn: false)
    }

    /// The next to be asked when one was removed before its turn came: nobody has failed by that, so it costs no attempt.
    mutating func removed(after progress: Progress, _ candidates: [Candidate]) -> Step {
        next(after: progress, candidates)
    }

    private mutating func next(after progress: Progress, _ candidates: [Candidate]) -> Step {
        var next: Int?
        if progress == .text {
            next = best(of: candidates) { $0.goesOn && !$0.isUnwilling }
        }
        let goOn = next != nil
        guard let next = next ?? best(of: candidates) else { return .fail }
        let pause = pause(before: next)
        asked[next, default: 0] += 1
        return .ask(next, after: pause, goOn: goOn)
    }

    /// One that has been asked before is given time to recover.
    private mutating func pause(before number: Int) -> Duration {
        guard timesAsked(number) > 0 else { return .zero }
        let pause = min(Self.shortestPause * (1 << min(pauses, 10)), Self.longestPause)
        pauses += 1
        return max(pause, retryAfter[number] ?? .zero)
    }

    private func timesAsked(_ number: Int) -> Int { asked[number, default: 0] + (number == first ? 1 : 0) }

    private func best(of candidates: [Candidate], where isFit: (Candidate) -> Bool = { _ in true }) -> Int? {
        candidates.indices.filter { !excluded.contains($0) && !candidates[$0].isGone && isFit(candidates[$0]) }.min {
            one, other in
            rank(one, candidates[one]) < rank(other, candidates[other])
        }
    }

    /// The lowest goes first.
    private func rank(_ number: Int, _ candidate: Candidate) -> (Int, Int, Int, Int, Int) {
        (
            candidate.isUnwilling ? 1 : 0, timesAsked(number), -candidate.priority, candidate.isFull ? 1 : 0,
            number
        )
    }
}
