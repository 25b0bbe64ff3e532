import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// Answers one request, once. Confined to its shard.
///
/// A client that ends its direction still gets the whole response, because it may be reading (RFC 9112 section 9.6). A client that was
/// killed looks the same until the first write after that: then its system answers with a reset, and `onClientGone` is called.
public final class Responder {
    private enum Phase {
        /// No response has begun.
        case waiting
        /// A head is written, and its body is being written.
        case streaming
        /// The response is complete or cut off.
        case ended
    }

    /// The chunk of the present turn, without its end.
    private struct OpenChunk {
        let framing: ChunkFraming.Open
        let start: ByteBuffer.Mark
        let data: ByteBuffer.Mark
    }

    /// The id of the request, which the response repeats.
    public var id: String { record.id }
    /// The shard of the connection.
    public let shard: Shard
    /// Called once if the client disconnects, or stops reading for too long, before the response is complete.
    public var onClientGone: (() -> Void)?

    /// An object that is released when the exchange has ended.
    public var held: AnyObject?

    /// Called when the system has accepted all output, after a time when it had not.
    var onDrained: (() -> Void)?
    /// Called after each period of silence that the stream set.
    var onSilence: (() -> Void)?
    var record: ExchangeRecord
    /// The foreign origin whose pages may read the response; `nil` if no origin may.
    var sharedWith: String?
    let arrival: Instant

    private var connection: Connection?
    private var phase = Phase.waiting
    private let version: Version
    private let isHead: Bool
    /// The bytes written on the connection before this response.
    private let writtenBefore: Int
    private let unsentLimit: Int

    /// The form of the request's errors (`ServerHooks.errorForm`).
    public internal(set) var errorForm: UInt8 = 0
    private var isChunked = false
    private var isBodyLeftOut = false
    private var chunk: OpenChunk?

    init(id: String, method: Method?, version: Version, arrival: Instant, connection: Connection) {
        self.arrival = arrival
        self.connection = connection
        shard = connection.group.shard
        self.version = version
        isHead = method == .head
        record = ExchangeRecord(id: id, method: method, shard: shard.index)
        writtenBefore = connection.written
        unsentLimit = connection.group.limits.unsentOutput
    }

    // MARK: - For handlers

    /// Whether no response has begun.
    public var isWaiting: Bool { phase == .waiting && connection != nil }

    /// The time since the first byte of the request.
    public var elapsed: Duration { shard.now - arrival }

    /// Adds an annotation for the log: no text of a prompt, and no secrets.
    public func annotate(_ key: String, _ value: String) {
        record.annotations.append((key, value))
    }

    /// What the handler attaches to the record of the exchange, for the log and the metrics.
    public var attachment: (any Sendable)? {
        get { record.attachment }
        set { record.attachment = newValue }
    }

    /// Answers with a complete body. A second response is ignored.
    ///
    /// The server writes the fields that frame the message, and ignores them here.
    public func respond(_ status: Status, fields: Fields = [:], body: [UInt8] = []) {
        respond(status, fields: fields, body: body.span)
    }

    /// Answers with a complete body. A second response is ignored.
    ///
    /// - Parameter memory: the reservation of a large body. It passes to the connection, which shrinks it to the unsent output
    ///   and releases it when that is sent. Without one, the connection reserves memory for output that the client does not read,
    ///   and closes if the budget is exhausted.
    public func respond(
        _ status: Status, fields: Fields = [:], body: ByteBuffer, memory: MemoryReservation? = nil
    ) {
        let connection = connection
        respond(status, fields: fields, body: body.bytes)
        if let memory { connection?.keep(memory) }
    }

    /// Answers with an error as JSON.
    public func refuse(_ refusal: Refusal, fields: Fields = [:]) {
        guard phase == .waiting, let connection else { return }
        var fields = fields
        for field in refusal.fields {
            if let value = FieldValue(validating: field.value) { fields.set(field.name, value) }
        }
        fields.set(.contentType, "application/json")
        if let retryAfter = refusal.retryAfter {
            fields.set(.retryAfter, FieldValue(retryAfter))
        }
        record.outcome = .refused(refusal.code)
        let answer = connection.group.hooks.errorAnswer(refusal, errorForm)
        respond(answer.status, fields: fields, body: answer.body)
    }

    /// Begins a response whose body is written in parts. The stream of a second response is closed from the start.
    public func stream(_ status: Status, fields: Fields = [:]) -> ResponseStream {
        shard.preconditionCurrent()
        guard phase == .waiting, let connection, let tcp = connection.tcp else { return ResponseStream(nil) }
        phase = .streaming
        let hasNoContent = Responder.hasNoContent(status)
        isBodyLeftOut = isHead || hasNoContent
        if version == .http11 {
            isChunked = !isBodyLeftOut
        } else {
            connection.endWithResponse()
        }
        let framing: ResponseFraming = version == .http11 && !hasNoContent ? .chunked : .none
        let write = { [self] (output: inout ByteBuffer) in
            writeHead(status, fields, framing, on: connection, into: &output)
        }
        if isBodyLeftOut {
            tcp.write(write)
        } else {
            // The first part of the body may follow at once; one `send` is enough for both.
            tcp.hold(write)
        }
        return ResponseStream(self)
    }

    private func respond(_ status: Status, fields: Fields, body: Span<UInt8>) {
        shard.preconditionCurrent()
        guard phase == .waiting, let connection, let tcp = connection.tcp else { return }
        let hasNoContent = Responder.hasNoContent(status)
        tcp.write { buffer in
            writeHead(status, fields, hasNoContent ? .none : .length(body.count), on: connection, into: &buffer)
            if !isHead, !hasNoContent {
                buffer.append(body)
            }
        }
        end()
    }

    /// Whether a response has neither length nor coding because it cannot have content (RFC 9110 8.6, RFC 9112 6.1).
    private static func hasNoContent(_ status: Status) -> Bool {
        status == .noContent || status == .notModified || status.isInformational
    }

    private func writeHead(
        _ status: Status, _ fields: Fields, _ framing: ResponseFraming, on connection: Connection,
        into buffer: inout ByteBuffer
    ) {
        record.status = status
        record.timeToResponse = shard.now - arrival
        status.writeLine(to: &buffer)
        connection.group.appendDate(to: &buffer)
        buffer.append("x-request-id: ")
        buffer.append(utf8: id)
        buffer.append("\r\n")
        framing.write(fields, to: &buffer)
        if !connection.group.policy.origins.isEmpty {
            writeSharing(to: &buffer)
        }
        if !connection.responseBegan() {
            buffer.append("connection: close\r\n")
        } else if version == .http10 {
            buffer.append("connection: keep-alive\r\n")
        }
        buffer.append("\r\n")
    }

    /// Allows a page of a listed origin to read the response and the fields that browsers hide otherwise (Fetch Standard, 3.3.3).
    /// There is no `Access-Control-Allow-Credentials`: pages of other origins send a credential of their own, never a cookie.
    private func writeSharing(to buffer: inout ByteBuffer) {
        // RFC 9110 12.5.5: a cache must not reuse the response for another origin.
        buffer.append("vary: origin\r\n")
        guard let sharedWith else { return }
        buffer.append("access-control-allow-origin: ")
        buffer.append(utf8: sharedWith)
        buffer.append("\r\naccess-control-expose-headers: allow, location, retry-after, server-timing")
        buffer.append(", x-conversation-id, x-ignored-members, x-request-id")
        buffer.append(", x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests")
        buffer.append(", x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens\r\n")
    }

    /// The fields of the answer to a preflight of a listed origin.
    func preflightFields(methods: String, for preflight: Fields) -> Fields {
        connection?.group.policy.preflight(methods: methods, for: preflight) ?? [:]
    }

    // MARK: - For the stream

    /// Whether the stream accepts output.
    var isStreaming: Bool { phase == .streaming && connection != nil }

    var unsentCount: Int { connection?.tcp?.unsentCount ?? 0 }

    func awaitDrain() {
        guard phase == .streaming else { return }
        connection?.tcp?.reportDrained()
    }

    /// The limit of output without a reservation within a turn, in bytes.
    private static let unflushed = 32 * 1024

    func append(_ body: (inout ByteBuffer) -> Void) {
        guard phase == .streaming, let connection, let tcp = connection.tcp, !isBodyLeftOut else { return }
        // The limit also applies within one turn, before the first attempt to send. A writer that can wait stops well below it.
        guard tcp.unsentCount <= unsentLimit else {
            connection.cutOff(.clientGone, as: .unsent)
            return
        }
        // Many responses may grow within one turn, before the shard sends any of them. The budget must count them.
        if connection.isOutputBlocked || tcp.unsentCount > Self.unflushed, tcp.unsentCount > connection.reservedOutput {
            tcp.reportDrained()
            guard connection.reserveOutput() else { return }
        }
        connection.outputWritten(at: shard.now)
        tcp.write { buffer in
            if isChunked {
                openChunk(in: &buffer)
            }
            body(&buffer)
            if let chunk, buffer.count(since: chunk.data) > ChunkFraming.maximum {
                split(chunk, in: &buffer)
            }
        }
    }

    @inline(__always)
    private func openChunk(in buffer: inout ByteBuffer) {
        if let chunk {
            // A new chunk begins early, so that a large write fits below the maximum size of a chunk.
            guard buffer.count(since: chunk.data) > ChunkFraming.maximum / 4 else { return }
            ChunkFraming.end(chunk.framing, in: &buffer)
        }
        let start = buffer.endMark
        let framing = ChunkFraming.begin(in: &buffer)
        chunk = OpenChunk(framing: framing, start: start, data: buffer.endMark)
    }

    /// Splits a chunk that became too large. It copies the bytes, because this is rare.
    private func split(_ whole: OpenChunk, in buffer: inout ByteBuffer) {
        var rest = buffer.array.suffix(buffer.count(since: whole.data))
        buffer.truncate(to: whole.start)
        chunk = nil
        while !rest.isEmpty {
            openChunk(in: &buffer)
            buffer.append(Array(rest.prefix(ChunkFraming.maximum / 2)))
            rest = rest.dropFirst(ChunkFraming.maximum / 2)
        }
    }

    /// Completes the chunk of this turn.
    func closeChunk() {
        guard let chunk else { return }
        self.chunk = nil
        connection?.tcp?.write { ChunkFraming.end(chunk.framing, in: &$0) }
    }

    /// Calls `callback` after each `duration` without output.
    func setSilence(_ duration: Duration, _ callback: @escaping () -> Void) {
        guard phase == .streaming, let connection else { return }
        onSilence = callback
        connection.setSilence(duration)
    }

    func finishStream() {
        shard.preconditionCurrent()
        guard phase == .streaming, let connection else { return }
        closeChunk()
        if isChunked {
            connection.tcp?.write { ChunkFraming.appendLast(to: &$0) }
        }
        end()
    }

    func abortStream() {
        shard.preconditionCurrent()
        guard phase == .streaming, let connection else { return }
        record.outcome = .aborted
        guard isChunked else {
            // Without chunks an orderly end would mean that the response is complete.
            phase = .ended
            connection.cutOff(.aborted)
            return
        }
        closeChunk()
        connection.endWithResponse()
        end()
    }

    // MARK: - For the connection

    func setRoute(_ match: Router.Match) {
        record.route = match.pattern
    }

    func handlerReturned() {
        if phase == .waiting {
            refuse(.noResponse)
        }
    }

    private func end() {
        phase = .ended
        connection?.responseEnded()
    }

    /// Ends the exchange: releases everything, and calls `onClientGone` if the response is incomplete.
    func finalRecord(_ outcome: ExchangeRecord.Outcome) -> ExchangeRecord {
        let isLost = phase != .ended
        let onClientGone = onClientGone
        if let connection {
            // The end of a connection drops unsent output, also that of earlier responses.
            record.bytesOut = max(0, connection.written - writtenBefore)
        }
        record.total = shard.now - arrival
        if outcome != .completed, record.outcome == .completed || isLost {
            record.outcome = outcome
        }
        phase = .ended
        connection = nil
        self.onClientGone = nil
        held = nil
        onDrained = nil
        onSilence = nil
        if isLost {
            onClientGone?()
        }
        return record
    }
}
