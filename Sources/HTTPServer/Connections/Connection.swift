import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// A client's connection: carries out what its state decides. Confined to its shard.
///
/// It keeps bytes only while a head is incomplete or requests are pipelined: an idle connection and one that streams hold no
/// buffer. Reading is paused from the end of a request until its response is sent, so that what a client pipelines stays with
/// the system.
final class Connection: TCPStreamDelegate, @unchecked Sendable {
    let group: ConnectionGroup
    let port: ListeningPort
    /// Where the group keeps this connection.
    var place = 0

    var state: ConnectionState
    private(set) var tcp: TCPStream?
    private var timer: DeadlineTimer?
    private var armedFor = Instant.distantFuture

    /// What is read and not used: a part of a head, or requests to come.
    var backlog: ByteBuffer?
    /// Where the head stands that `backlog` holds a part of.
    var parser: RequestHeadParser?
    /// The request whose body is being read.
    var incoming: IncomingRequest?
    /// Whether `backlog` or bytes just read are being used: what a response's end allows follows by itself.
    var isReading = false
    /// When the first byte of the present request was read.
    var arrival = Instant.distantPast
    /// The response that is being made, or being sent.
    private(set) var exchange: Responder?
    /// The reservation for unsent output.
    private var outputMemory: MemoryReservation?

    init(group: ConnectionGroup, port: ListeningPort) {
        self.group = group
        self.port = port
        state = ConnectionState(timing: group.timing, now: group.shard.now)
    }

    /// Takes over an accepted descriptor.
    func start(_ descriptor: Int32, peer: SocketAddress) throws(SocketError) {
        tcp = try TCPStream.adopt(descriptor, peer: peer, on: group.shard, delegate: self, tls: port.tls)
        timer = DeadlineTimer(on: group.shard) { [unowned self] in deadlinePassed() }
        setTimer()
    }

    var now: Instant { group.shard.now }

    // MARK: - What the stream tells

    func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
        switch state.received(bytes.count, at: now) {
        case .read: read(bytes)
        case .hold: hold(bytes)
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

    /// The reserved size for unsent output, in bytes.
    var reservedOutput: Int { outputMemory?.count ?? 0 }

    /// Reserves memory for unsent output. Cuts the client off and returns `false` if the budget is exhausted; the client can
    /// reconnect.
    func reserveOutput() -> Bool {
        guard let tcp, tcp.unsentCount > reservedOutput else { return true }
        let wanted = (tcp.unsentCount / Self.outputStep + 1) * Self.outputStep
        if let outputMemory {
            if outputMemory.grow(to: wanted, for: .output) { return true }
        } else {
            outputMemory = group.memory.reserve(wanted, for: .output)
            if outputMemory != nil { return true }
        }
        cutOff(.clientGone)
        return false
    }

    /// Keeps the reservation of a response until the output is sent.
    func keep(_ memory: MemoryReservation) {
        guard let tcp, tcp.unsentCount > reservedOutput else { return }
        memory.charge(to: tcp.unsentCount)
        memory.shrink(to: tcp.unsentCount)
        outputMemory = memory
        tcp.reportDrained()
    }

    /// The step of the reservation for output, in bytes.
    private static let outputStep = 16 * 1024

    func streamDrained(_ stream: TCPStream) {
        let wasDraining = state.phase == .draining
        let action = state.outputDrained(at: now)
        outputMemory = nil
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

    private func deadlinePassed() {
        armedFor = .distantFuture
        perform(state.deadlinePassed(sent: tcp?.sentCount ?? 0, at: now))
        setTimer()
    }

    func shutdownBegan() {
        perform(state.shutdownBegan(at: now))
        setTimer()
    }

    func setTimer() {
        let wanted = state.deadline
        guard wanted != armedFor else { return }
        armedFor = wanted
        timer?.set(at: wanted)
    }

    // MARK: - What the state decides

    func perform(_ action: ConnectionState.Action) {
        switch action {
        case .none, .read, .hold, .discard, .dispatch:
            break
        case .sendContinue:
            tcp?.write { $0.append("HTTP/1.1 100 Continue\r\n\r\n") }
        case .refuse(let refusal):
            refuse(refusal)
        case .awaitDrain:
            tcp?.reportDrained()
        case .next:
            readBacklog()
        case .shutDown:
            backlog = nil
            parser = nil
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

    /// Ends the connection in the midst of what it does.
    func cutOff(_ outcome: ExchangeRecord.Outcome) {
        guard state.phase != .closed else { return }
        _ = state.abort()
        tcp?.abort()
        leave(outcome)
    }

    /// Gives up the connection; its stream is closed.
    private func leave(_ outcome: ExchangeRecord.Outcome) {
        timer?.cancel()
        armedFor = .distantFuture
        backlog = nil
        parser = nil
        incoming = nil
        outputMemory = nil
        report(outcome)
        if tcp != nil {
            tcp = nil
            group.remove(self)
        }
    }

    // MARK: - The response

    /// All bytes of output so far.
    var written: Int {
        guard let tcp else { return 0 }
        return tcp.sentCount + tcp.unsentCount
    }

    /// A request's response can be made from now on.
    func begin(_ exchange: Responder) {
        self.exchange = exchange
    }

    /// The response is written; nothing is to be added to it.
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

    /// The exchange is over.
    private func report(_ outcome: ExchangeRecord.Outcome) {
        guard let exchange = exchange.take() else { return }
        group.environment.onExchangeEnd(exchange.finalRecord(outcome))
    }
}
