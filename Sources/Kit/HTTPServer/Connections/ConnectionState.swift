import ChatterdBasics

/// The state machine of a server connection. It does no I/O and reads no clock: the caller tells it the events and the time, and
/// carries out the actions that it returns.
struct ConnectionState: Sendable {
    enum Phase: Sendable, Equatable {
        /// No byte of a request has arrived. The first byte may follow, or the end of the input.
        case idle
        /// A part of a head has arrived. The rest follows before its deadline, or 408.
        case head
        /// A head has arrived. Its body follows, fast enough, or 408.
        case body
        /// A whole request has arrived, or the request is refused. Reading is paused. The response follows.
        case responding
        /// The response is written, but much of it is unsent, and reading is paused. Its last byte follows, or a stall.
        case draining
        /// The last response is written. The output ends once it is sent.
        case ending
        /// The output has ended. Input is discarded until the client closes, for a limited time.
        case lingering
        /// The connection is over.
        case closed

        /// Whether the connection waits for bytes of the client.
        var awaitsInput: Bool { self == .idle || self == .head || self == .body }
    }

    enum Action: Sendable, Equatable {
        /// Do nothing.
        case none
        /// Parse the bytes.
        case read
        /// Keep the bytes for later.
        case hold
        /// Discard the bytes.
        case discard
        /// Send the interim response 100, then parse the bytes that arrive.
        case sendContinue
        /// Pause reading, and hand the request to its handler.
        case dispatch
        /// Answer with an error. The connection ends after it.
        case refuse(Refusal)
        /// Call `outputDrained` when all output is sent.
        case awaitDrain
        /// Use the kept bytes, then read more.
        case next
        /// End the output once all of it is sent, and then call `outputDrained`.
        case shutDown
        /// Ask the writer of the response for a keep-alive.
        case breakSilence
        /// Close.
        case close
        /// Close with a reset, because the client accepts no more bytes.
        case abort
    }

    private(set) var phase = Phase.idle
    /// Whether the client has ended its direction.
    private(set) var inputHasEnded = false
    /// Whether the system has accepted only a part of the output.
    private(set) var isBlocked = false

    private let timing: Timing
    private var keepsAlive = true
    private var isShuttingDown = false
    private var phaseDeadline: Instant
    private var stallDeadline = Instant.distantFuture
    /// The bytes that the system had accepted when the stall deadline was set.
    private var sentBefore = 0
    private var lingeringLeft = 0
    /// The bytes that arrived while the present response was made or sent.
    private var heldInput = 0
    /// The time without output after which the writer of a response is asked for a keep-alive; zero for never.
    private var silence = Duration.zero
    private var lastOutput = Instant.distantPast

    init(timing: Timing, now: Instant) {
        self.timing = timing
        phaseDeadline = now + timing.idle
    }

    /// When `deadlinePassed` must be called; `distantFuture` for never.
    var deadline: Instant {
        let earliest = min(phaseDeadline, stallDeadline)
        return silence == .zero ? earliest : min(earliest, lastOutput + silence)
    }

    // MARK: - The request

    /// Bytes arrived, or kept bytes are about to be used.
    mutating func received(_ count: Int, at now: Instant) -> Action {
        switch phase {
        case .idle:
            phase = .head
            phaseDeadline = now + timing.headDeadline
            return .read
        case .head:
            return .read
        case .body:
            // Each byte extends the deadline, but never beyond the limit from now. Otherwise 8 MiB at once would allow hours of silence.
            phaseDeadline = min(phaseDeadline + timing.bodyByte * count, now + timing.bodyDeadline)
            return .read
        case .responding, .draining:
            // Reading is paused, so that only the rest of the present read arrives.
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

    /// A head is complete; `isBodyHere` says whether bytes of its body arrived with it.
    mutating func headCompleted(
        wantsPersistence: Bool, hasBody: Bool, expectsContinue: Bool, isBodyHere: Bool, at now: Instant
    ) -> Action {
        precondition(phase == .head, "a head outside of the phase `head`")
        keepsAlive = wantsPersistence
        guard hasBody else { return requestCompleted() }
        phase = .body
        phaseDeadline = now + timing.bodyDeadline
        // RFC 9110 10.1.1: not needed after a part of the content has arrived.
        return expectsContinue && !isBodyHere ? .sendContinue : .read
    }

    /// The body is complete, or the request has none.
    mutating func requestCompleted() -> Action {
        precondition(phase == .head || phase == .body, "the end of a request that had not begun")
        phase = .responding
        phaseDeadline = .distantFuture
        return .dispatch
    }

    /// The request is refused: it is answered with an error and not read any further.
    mutating func refused() {
        precondition(phase != .closed && phase != .lingering, "a refusal after the end of the output")
        phase = .responding
        phaseDeadline = .distantFuture
        keepsAlive = false
    }

    /// The client ended its direction. It may still read (RFC 9112 9.6).
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

    /// The response begins. Returns whether it may announce that the connection stays open.
    mutating func responseBegan() -> Bool {
        keepsAlive = keepsAlive && !isShuttingDown
        return keepsAlive
    }

    /// Only the end of the connection tells the client whether the response is complete.
    mutating func endsWithResponse() {
        keepsAlive = false
    }

    /// Asks the writer for a keep-alive after each `duration` without output, from now on.
    mutating func setSilence(_ duration: Duration, at now: Instant) {
        silence = duration
        lastOutput = now
    }

    /// Output was written. This is all that a deadline costs a token.
    @inline(__always)
    mutating func wrote(at now: Instant) {
        lastOutput = now
    }

    /// The response is written; `unsent` bytes of it are not sent yet.
    mutating func responseEnded(unsent: Int, at now: Instant) -> Action {
        precondition(phase == .responding, "the end of a response that had not begun")
        silence = .zero
        guard unsent <= Timing.settledOutput else {
            phase = .draining
            return .awaitDrain
        }
        return afterResponse(at: now)
    }

    /// The system accepted a part of the output: `sent` bytes since the connection began.
    mutating func outputBlocked(sent: Int, at now: Instant) {
        isBlocked = true
        sentBefore = sent
        stallDeadline = now + timing.writeStall
    }

    /// The system has accepted all output.
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

    /// The `deadline` may have passed. The system has accepted `sent` bytes since the connection began.
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
                // Slow output has the stall deadline. Output that cannot begin, as during a stalled handshake, has this one.
                guard isBlocked else { return abort() }
                phaseDeadline = now + timing.writeStall
            case .responding, .draining, .closed: break
            }
        }
        if silence > .zero, now >= lastOutput + silence {
            lastOutput = now
            // A client that does not accept the present output needs no keep-alive.
            return isBlocked ? .none : .breakSilence
        }
        return .none
    }

    /// The server shuts down: it accepts no further request.
    mutating func shutdownBegan(at now: Instant) -> Action {
        isShuttingDown = true
        return phase == .idle ? end(at: now) : .none
    }

    /// The connection ends, in any phase.
    mutating func close() -> Action {
        leave()
        return .close
    }

    /// The connection ends with a reset, so that the client notices missing bytes.
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

    /// RFC 9112 9.6: the output ends first and the input is read to its end. Otherwise a reset could overtake the response.
    private mutating func end(at now: Instant) -> Action {
        phase = .ending
        phaseDeadline = now + timing.writeStall
        lingeringLeft = timing.lingeringBytes
        return .shutDown
    }
}
