import ChatterdBasics

/// The life of a server connection: what has happened on it, and what follows; without I/O and without a clock.
struct ConnectionState: Sendable {
    enum Phase: Sendable, Equatable {
        /// Nothing of a request is here. Its first byte may follow, or the client's end.
        case idle
        /// A part of a head is here. The rest follows before its deadline, or 408.
        case head
        /// A head is here. Its body follows, fast enough, or 408.
        case body
        /// A whole request is here, or one that is refused, and reading rests. The response follows.
        case responding
        /// The response is written, but much of it is not sent, and reading is paused. Its last byte follows, or a stall.
        case draining
        /// The last response is written. Our direction ends once it is sent.
        case ending
        /// Our direction has ended. What the client still sends is thrown away until it closes, for a while.
        case lingering
        /// Nothing follows.
        case closed

        /// Whether the client has to send something before anything can go on.
        var awaitsInput: Bool { self == .idle || self == .head || self == .body }
    }

    enum Action: Sendable, Equatable {
        /// There is nothing to do.
        case none
        /// Parse what arrived.
        case read
        /// Keep what arrived for later.
        case hold
        /// Throw away what arrived.
        case discard
        /// Send the interim response 100, then parse what arrives.
        case sendContinue
        /// Rest reading, and hand the request to its handler.
        case dispatch
        /// Answer with an error; the connection ends after it.
        case refuse(Refusal)
        /// Tell when all output is sent.
        case awaitDrain
        /// Look at what is kept, then read on.
        case next
        /// End our direction once all output is sent, and tell when.
        case shutDown
        /// Ask the writer of the response for a sign of life.
        case breakSilence
        /// Close in order.
        case close
        /// Close with a reset: the client takes nothing any more.
        case abort
    }

    private(set) var phase = Phase.idle
    /// Whether the client will send nothing more.
    private(set) var inputHasEnded = false
    /// Whether the system has taken less than there is to send.
    private(set) var isBlocked = false

    private let timing: Timing
    private var keepsAlive = true
    private var isShuttingDown = false
    private var phaseDeadline: Instant
    private var stallDeadline = Instant.distantFuture
    /// Bytes that the system had taken when the stall deadline was set.
    private var sentBefore = 0
    private var lingeringLeft = 0
    /// Bytes that came while the present response was made or sent.
    private var heldInput = 0
    /// How long a response may be silent before its writer is asked; zero for ever.
    private var silence = Duration.zero
    private var lastOutput = Instant.distantPast

    init(timing: Timing, now: Instant) {
        self.timing = timing
        phaseDeadline = now + timing.idle
    }

    /// When `deadlinePassed` wants to be called; `distantFuture` for never.
    var deadline: Instant {
        let earliest = min(phaseDeadline, stallDeadline)
        return silence == .zero ? earliest : min(earliest, lastOutput + silence)
    }

    // MARK: - The request

    /// Bytes have come in, or kept ones are looked at.
    mutating func received(_ count: Int, at now: Instant) -> Action {
        switch phase {
        case .idle:
            phase = .head
            phaseDeadline = now + timing.headDeadline
            return .read
        case .head:
            return .read
        case .body:
            // What has come buys time, but never more than the limit from now: 8 MiB at once would buy hours of silence.
            phaseDeadline = min(phaseDeadline + timing.bodyByte * count, now + timing.bodyDeadline)
            return .read
        case .responding, .draining:
            // Reading is paused, so that at most the rest of a read comes here.
            heldInput += count
            guard heldInput <= Timing.heldInput else { return abort() }
            return .hold
        case .ending, .lingering:
            lingeringLeft -= count
            guard phase == .ending || lingeringLeft >= 0 else { return close() }
            return .discard
        case .closed:
            return .discard
        }
    }

    /// A head is complete. `isBodyHere` tells that bytes of its body came with it.
    mutating func headCompleted(
        wantsPersistence: Bool, hasBody: Bool, expectsContinue: Bool, isBodyHere: Bool, at now: Instant
    ) -> Action {
        precondition(phase == .head, "a head where none was expected")
        keepsAlive = wantsPersistence
        guard hasBody else { return requestCompleted() }
        phase = .body
        phaseDeadline = now + timing.bodyDeadline
        // RFC 9110 10.1.1: not needed once content has come.
        return expectsContinue && !isBodyHere ? .sendContinue : .read
    }

    /// The body is complete, or there is none.
    mutating func requestCompleted() -> Action {
        precondition(phase == .head || phase == .body, "a request that had not begun")
        phase = .responding
        phaseDeadline = .distantFuture
        return .dispatch
    }

    /// The request will be answered with an error without being read any further.
    mutating func refused() {
        precondition(phase != .closed && phase != .lingering, "a refusal that nobody would read")
        phase = .responding
        phaseDeadline = .distantFuture
        keepsAlive = false
    }

    /// The client will send nothing more; it may still read (RFC 9112 9.6).
    mutating func inputEnded(at now: Instant) -> Action {
        inputHasEnded = true
        switch phase {
        case .idle: return end(at: now)
        case .head, .body: return .refuse(.truncated)
        case .responding, .draining, .ending, .closed: return .none
        case .lingering: return close()
        }
    }

    // MARK: - The response

    /// The response begins; whether it may tell the client that the connection stays open.
    mutating func responseBegan() -> Bool {
        keepsAlive = keepsAlive && !isShuttingDown
        return keepsAlive
    }

    /// Only the end of the connection will tell the client that the response is complete, or that it is not.
    mutating func endsWithResponse() {
        keepsAlive = false
    }

    /// From now on the writer is asked for a sign of life when it was silent for this long.
    mutating func setSilence(_ duration: Duration, at now: Instant) {
        silence = duration
        lastOutput = now
    }

    /// Something was written. This is all that a deadline costs a token.
    @inline(__always)
    mutating func wrote(at now: Instant) {
        lastOutput = now
    }

    /// The response is written; `unsent` bytes are still here.
    mutating func responseEnded(unsent: Int, at now: Instant) -> Action {
        precondition(phase == .responding, "the end of a response that had not begun")
        silence = .zero
        guard unsent <= Timing.settledOutput else {
            phase = .draining
            return .awaitDrain
        }
        return afterResponse(at: now)
    }

    /// The system took less than there was; it has taken `sent` bytes since the connection began.
    mutating func outputBlocked(sent: Int, at now: Instant) {
        isBlocked = true
        sentBefore = sent
        stallDeadline = now + timing.writeStall
    }

    /// The system has taken everything.
    mutating func outputDrained(at now: Instant) -> Action {
        isBlocked = false
        stallDeadline = .distantFuture
        switch phase {
        case .draining:
            return afterResponse(at: now)
        case .ending:
            guard !inputHasEnded else { return close() }
            phase = .lingering
            phaseDeadline = now + timing.lingering
            return .none
        case .idle, .head, .body, .responding, .lingering, .closed:
            return .none
        }
    }

    // MARK: - The end

    /// The time of `deadline` has come, perhaps; the system has taken `sent` bytes since the connection began.
    mutating func deadlinePassed(sent: Int, at now: Instant) -> Action {
        if now >= stallDeadline {
            guard sent > sentBefore else { return abort() }
            sentBefore = sent
            stallDeadline = now + timing.writeStall
        }
        if now >= phaseDeadline {
            switch phase {
            case .idle: return end(at: now)
            case .head: return .refuse(.headTimedOut)
            case .body: return .refuse(.bodyTimedOut)
            case .lingering: return close()
            case .ending:
                // What drains slowly has its own deadline; what cannot even begin (a handshake that rests) has this one.
                guard isBlocked else { return abort() }
                phaseDeadline = now + timing.writeStall
            case .responding, .draining, .closed: break
            }
        }
        if silence > .zero, now >= lastOutput + silence {
            lastOutput = now
            // A client that does not take what there is needs no more of it.
            return isBlocked ? .none : .breakSilence
        }
        return .none
    }

    /// The server takes no more requests than those that have begun.
    mutating func shutdownBegan(at now: Instant) -> Action {
        isShuttingDown = true
        return phase == .idle ? end(at: now) : .none
    }

    /// The connection is over, whatever was going on.
    mutating func close() -> Action {
        leave()
        return .close
    }

    /// The connection is over, and the client is to notice that something is missing.
    mutating func abort() -> Action {
        leave()
        return .abort
    }

    private mutating func leave() {
        phase = .closed
        phaseDeadline = .distantFuture
        stallDeadline = .distantFuture
        silence = .zero
    }

    private mutating func afterResponse(at now: Instant) -> Action {
        guard keepsAlive, !isShuttingDown else { return end(at: now) }
        phase = .idle
        phaseDeadline = now + timing.idle
        heldInput = 0
        return .next
    }

    /// RFC 9112 9.6: the direction is ended first, and the rest read, or a reset could overtake the response.
    private mutating func end(at now: Instant) -> Action {
        phase = .ending
        phaseDeadline = now + timing.writeStall
        lingeringLeft = timing.lingeringBytes
        return .shutDown
    }
}
