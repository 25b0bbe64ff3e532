import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// A connection of a client. It carries out what its `ConnectionState` decides. Confined to its shard.
///
/// Reading is paused from the end of a request until its response is sent, so that requests which a client pipelines stay with the
/// system.
final class Connection: TCPStreamDelegate, IndexedSetElement {
    let group: ConnectionGroup
    let port: ListeningPort
    /// The index in the group's set.
    var setIndex: Int?
    private(set) var tcp: TCPStream?

    private var state: ConnectionState
    private var input = RequestInput()
    private var outputMemory = OutputReservation()
    /// The response that is being made or sent.
    private var exchange: Responder?
    private var timer: DeadlineTimer?
    /// The deadline that the timer is set to.
    private var armedFor = Instant.distantFuture

    init(group: ConnectionGroup, port: ListeningPort) {
        self.group = group
        self.port = port
        state = ConnectionState(timing: group.timing, now: group.shard.now)
    }

    /// Adopts an accepted descriptor.
    func start(_ descriptor: Int32, peer: SocketAddress) throws(SocketError) {
        tcp = try TCPStream.adopt(descriptor, peer: peer, on: group.shard, delegate: self, tls: port.tls)
        timer = DeadlineTimer(on: group.shard) { [unowned self] in deadlinePassed() }
        setTimer()
    }

    private var now: Instant { group.shard.now }

    // MARK: - Events of the stream

    func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
        switch state.received(bytes.count, at: now) {
        case .read: read(bytes)
        case .hold: input.keep(bytes, on: group.shard)
        case .close: perform(.close)
        case .abort: perform(.abort)
        default: break
        }
        setTimer()
    }

    func streamReachedEnd(_ stream: TCPStream) {
        perform(state.inputEnded(at: now))
        setTimer()
    }

    func streamWillFlush(_ stream: TCPStream) {
        exchange?.closeChunk()
    }

    func streamBlocked(_ stream: TCPStream) {
        state.outputBlocked(sent: stream.sentCount, at: now)
        setTimer()
        _ = reserveOutput()
    }

    func streamDrained(_ stream: TCPStream) {
        let wasDraining = state.phase == .draining
        let action = state.outputDrained(at: now)
        outputMemory.release()
        if wasDraining {
            report(.completed)
        }
        perform(action)
        setTimer()
        exchange?.onDrained?()
    }

    func stream(_ stream: TCPStream, failed error: SocketError) {
        _ = state.close()
        leave(.clientGone)
    }

    // MARK: - Deadlines

    private func deadlinePassed() {
        armedFor = .distantFuture
        if state.phase.awaitsInput, tcp?.isWaitingToRead ?? false {
            // The bytes have arrived. The shard has not read them yet.
            timer?.set(at: now + .milliseconds(10))
            return
        }
        let action = state.deadlinePassed(sent: tcp?.sentCount ?? 0, at: now)
        if action == .abort {
            exchange?.record.cut = .stalled
        }
        perform(action)
        setTimer()
    }

    private func setTimer() {
        let wanted = state.deadline
        guard wanted != armedFor else { return }
        armedFor = wanted
        timer?.set(at: wanted)
    }

    // MARK: - Actions of the state

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .none, .read, .hold, .discard, .dispatch:
            break
        case .sendContinue:
            tcp?.write { $0.append("HTTP/1.1 100 Continue\r\n\r\n") }
        case .refuse(let refusal):
            refuse(refusal, method: input.methodOfPartialHead)
        case .awaitDrain:
            tcp?.reportDrained()
        case .next:
            readBacklog()
        case .shutDown:
            input.discard()
            tcp?.shutdownWriting()
            tcp?.resumeReading()
        case .breakSilence:
            exchange?.onSilence?()
        case .close:
            tcp?.close()
            leave(.clientGone)
        case .abort:
            tcp?.abort()
            leave(.clientGone)
        }
    }

    // MARK: - The end

    /// Ends the connection after its current request.
    func beginShutdown() {
        perform(state.shutdownBegan(at: now))
        setTimer()
    }

    /// Closes the connection with a reset, at any time.
    func cutOff(_ outcome: ExchangeRecord.Outcome, as cut: ExchangeRecord.Cut? = nil) {
        guard state.phase != .closed else { return }
        exchange?.record.cut = cut
        _ = state.abort()
        tcp?.abort()
        leave(outcome)
    }

    /// Releases everything that the connection holds; its stream is closed.
    private func leave(_ outcome: ExchangeRecord.Outcome) {
        timer?.cancel()
        armedFor = .distantFuture
        input.discard()
        outputMemory.release()
        report(outcome)
        if tcp != nil {
            tcp = nil
            group.remove(self)
        }
    }

    // MARK: - Requests

    private func read(_ bytes: Span<UInt8>) {
        if input.hasBacklog {
            input.keep(bytes, on: group.shard)
            useBacklog()
        } else {
            let used = use(bytes)
            if used < bytes.count {
                input.keep(bytes.extracting(used...), on: group.shard)
            }
        }
    }

    private func useBacklog() {
        guard var backlog = input.removeBacklog() else { return }
        backlog.removeFirst(use(backlog.bytes))
        input.putBack(consume backlog, on: group.shard)
    }

    /// Reads the next request after the end of a response: first from the backlog, then from the stream.
    private func readBacklog() {
        guard !input.isInUse else { return }
        useBacklog()
        guard state.phase.awaitsInput, !input.isYielding else { return }
        if state.inputHasEnded {
            perform(state.inputEnded(at: now))
        } else {
            tcp?.resumeReading()
        }
    }

    /// Uses the rest of the backlog in the next turn of the shard, after the events of other connections.
    private func yield() {
        guard !input.isYielding else { return }
        input.isYielding = true
        tcp?.pauseReading()
        let connection = Confined(self, to: group.shard)
        group.shard.run {
            let connection = connection.value
            connection.input.isYielding = false
            connection.readBacklog()
            connection.setTimer()
        }
    }

    /// Parses as far as the bytes and the state allow, and returns the number of used bytes.
    private func use(_ bytes: Span<UInt8>) -> Int {
        input.isInUse = true
        defer { input.isInUse = false }
        var index = 0
        while true {
            switch state.phase {
            case .idle, .head:
                guard index < bytes.count else { return index }
                guard input.mayBegin(at: now) else {
                    yield()
                    return index
                }
                _ = state.received(0, at: now)
                guard readHead(bytes, from: &index) else { return index }
            case .body:
                guard readBody(bytes, from: &index) else { return index }
            case .responding, .draining:
                return index
            case .ending, .lingering, .closed:
                return bytes.count
            }
        }
    }

    /// Returns `false` if the head is incomplete.
    private func readHead(_ bytes: Span<UInt8>, from index: inout Int) -> Bool {
        let start = index
        do throws(HTTPError) {
            let found = try input.parseHead(bytes.extracting(start...), limits: group.limits.head, at: now)
            guard let (head, length) = found else { return false }
            index += length
            index += try begin(head, length: length, bytesHere: bytes.count - index)
        } catch {
            refuse(Refusal(error), method: input.methodOfPartialHead(in: bytes.extracting(start...)))
        }
        return true
    }

    /// Begins a request; `bytesHere` is the number of bytes that arrived after its head.
    ///
    /// - Returns: the number of those bytes that belong to a body which no handler reads.
    private func begin(_ head: RequestHead, length: Int, bytesHere: Int) throws(HTTPError) -> Int {
        let sent = head.fields[.xRequestID]
        let id = sent.flatMap { RequestID.isSane($0) ? $0 : nil } ?? group.ids.next()
        let responder = makeResponder(id: id, method: head.method, version: head.version)
        responder.record.bytesIn = length
        responder.errorForm = group.hooks.errorForm(head)

        let match = group.router.match(head.method, head.target)
        responder.setRoute(match)
        let framing = try BodyFraming.ofRequest(head)
        let expectsContinue = try head.expectsContinue()
        let refusal = group.refusal(
            of: head, match, hasBody: framing != .none && framing != .length(0), isSecure: port.isSecure, to: responder)
        guard match.isHandler, refusal == nil else {
            let skipped = skipBody(framing, of: head, bytesHere: bytesHere)
            responder.record.bytesIn += skipped
            if let refusal {
                responder.refuse(refusal)
            } else {
                dispatch(head, body: RequestBody(), match: match, to: responder)
            }
            return skipped
        }
        let decoder = try BodyDecoder(framing: framing, limits: group.limits.body)
        let action = state.headCompleted(
            wantsPersistence: head.wantsPersistence, hasBody: !decoder.isComplete, expectsContinue: expectsContinue,
            isBodyHere: bytesHere > 0, at: now)
        if action == .dispatch {
            dispatch(head, body: RequestBody(), match: match, to: responder)
        } else {
            input.request = IncomingRequest(
                head: head, match: match, responder: responder, decoder: decoder, body: RequestBody(of: framing))
            perform(action)
        }
        return 0
    }

    /// Prepares for a response that does not depend on the body. The connection does not wait for the body, and ends after the
    /// response unless the whole body is here.
    ///
    /// A client that sent `Expect: 100-continue` then does not send the body (RFC 9110 10.1.1).
    ///
    /// - Returns: the number of bytes of the body, if all of them are here.
    private func skipBody(_ framing: BodyFraming, of head: RequestHead, bytesHere: Int) -> Int {
        let length: Int
        switch framing {
        case .none: length = 0
        case .length(let stated) where stated <= bytesHere: length = stated
        case .length, .chunked, .untilClose:
            state.refused()
            return 0
        }
        _ = state.headCompleted(
            wantsPersistence: head.wantsPersistence, hasBody: false, expectsContinue: false, isBodyHere: true, at: now)
        return length
    }

    /// Returns `false` if more bytes are needed.
    private func readBody(_ bytes: Span<UInt8>, from index: inout Int) -> Bool {
        guard let request = input.request else { return false }
        let before = index
        defer { request.responder.record.bytesIn += index - before }
        while true {
            do throws(HTTPError) {
                switch try request.decoder.next(bytes, from: &index) {
                case .data(let range):
                    let isAppended = request.body.append(bytes.extracting(range), in: group.memory) {
                        group.hooks.bodyAccount(request.head, group.shard)
                    }
                    guard isAppended else {
                        refuse(.noRoom(group.memory))
                        return true
                    }
                case .more:
                    return false
                case .end:
                    input.request = nil
                    _ = state.requestCompleted()
                    dispatch(request.head, body: request.body, match: request.match, to: request.responder)
                    return true
                }
            } catch {
                refuse(Refusal(error))
                return true
            }
        }
    }

    private func dispatch(_ head: RequestHead, body: RequestBody, match: Router.Match, to responder: Responder) {
        guard let tcp else { return }
        if match.isHandler {
            tcp.pauseReading()
        }
        let request = Request(
            head: head, body: body, parameters: match.parameters, id: responder.id, peer: tcp.peer, shard: group.shard,
            arrival: responder.arrival, isSecure: port.isSecure)
        responder.dispatch(request, to: match, of: group.router)
    }

    /// Answers input that cannot be read any further with an error, and ends the connection.
    ///
    /// - Parameter method: the method of a head that is broken or incomplete.
    private func refuse(_ refusal: Refusal, method: Method? = nil) {
        input.request = nil
        state.refused()
        let responder = exchange ?? makeResponder(id: group.ids.next(), method: method, version: .http11)
        responder.refuse(refusal)
    }

    private func makeResponder(id: String, method: Method?, version: Version) -> Responder {
        let responder = Responder(id: id, method: method, version: version, arrival: input.arrival, connection: self)
        exchange = responder
        return responder
    }

    // MARK: - Called by the responder

    /// The number of bytes of output so far.
    var written: Int {
        guard let tcp else { return 0 }
        return tcp.sentCount + tcp.unsentCount
    }

    /// Whether the system has taken less output than there is.
    var isOutputBlocked: Bool { state.isBlocked }

    /// Notes that output is written. This is all that a deadline costs a token.
    @inline(__always)
    func outputWritten(at instant: Instant) {
        state.wrote(at: instant)
    }

    /// Begins a response, and returns whether it may announce that the connection stays open.
    func responseBegan() -> Bool {
        state.responseBegan()
    }

    /// Notes that only the end of the connection tells the client whether the response is complete.
    func endWithResponse() {
        state.endsWithResponse()
    }

    /// Calls `onSilence` of the responder after each `duration` without output.
    func setSilence(_ duration: Duration) {
        state.setSilence(duration, at: now)
        setTimer()
    }

    /// The bytes reserved for unsent output.
    var reservedOutput: Int { outputMemory.count }

    /// Reserves memory for unsent output. Cuts the client off and returns `false` if the budget is exhausted; the client can
    /// reconnect.
    func reserveOutput() -> Bool {
        guard let tcp else { return true }
        guard outputMemory.cover(tcp.unsentCount, in: group.memory) else {
            cutOff(.clientGone, as: .memory)
            return false
        }
        return true
    }

    /// Keeps the reservation of a response until its output is sent.
    func keep(_ memory: MemoryReservation) {
        guard let tcp, tcp.unsentCount > reservedOutput else { return }
        outputMemory.adopt(memory, unsent: tcp.unsentCount)
        tcp.reportDrained()
    }

    /// The response is completely written.
    func responseEnded() {
        let action = state.responseEnded(unsent: tcp?.unsentCount ?? 0, at: now)
        if state.phase == .draining {
            // A client that does not read its responses must not have its requests kept here.
            tcp?.pauseReading()
        } else {
            report(.completed)
        }
        perform(action)
        setTimer()
    }

    /// Reports the end of the exchange.
    private func report(_ outcome: ExchangeRecord.Outcome) {
        guard let exchange = exchange.take() else { return }
        group.hooks.onExchangeEnd(exchange.finalRecord(outcome))
    }
}
