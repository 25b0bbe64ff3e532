import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets

/// A connection to an origin, and the response that arrives on it. Confined to its shard.
final class ClientConnection: TCPStreamDelegate {
    private enum Phase {
        /// The connection is in the pool, without a request.
        case idle
        /// The request is written, and heads are read until the final one.
        case head
        /// The decoder reads the body.
        case body
        /// The stream is closed.
        case closed
    }

    let stream: TCPStream
    /// When the connection became idle.
    var idleSince = Instant.distantPast
    /// Whether the connection has served a request before, so that the server may have closed it.
    private(set) var isReused = false

    private let pool: OriginPool
    private var exchange: Exchange?
    private var phase = Phase.idle
    /// The bytes sent before the request, and the same with those of TLS itself.
    private var sentBefore = 0
    private var transmittedBefore = 0
    private var interimHeads: UInt8 = 0
    private var outlivesResponse = false
    private var partial: PartialHead?
    private var decoder: BodyDecoder?

    /// A head of which only a part has arrived. A class, because it is rare and most connections need no memory for it.
    private final class PartialHead {
        var parser: ResponseHeadParser
        var bytes = ByteBuffer()

        init(_ parser: ResponseHeadParser) {
            self.parser = parser
        }
    }

    init(_ stream: TCPStream, pool: OriginPool) {
        self.stream = stream
        self.pool = pool
        stream.delegate = self
    }

    /// Sends the request of an exchange.
    func begin(_ exchange: Exchange, head: RequestHead, body: OutgoingBody) {
        self.exchange = exchange
        phase = .head
        interimHeads = 0
        sentBefore = stream.sentCount
        transmittedBefore = stream.transmittedCount
        stream.write { head.write(to: &$0) }
        for part in body.parts {
            stream.write(sharing: part)
        }
    }

    /// Closes the connection without a call to the exchange.
    func close() {
        phase = .closed
        exchange = nil
        stream.close()
    }

    // MARK: - TCPStreamDelegate

    func stream(_ stream: TCPStream, received bytes: Span<UInt8>) {
        switch phase {
        case .body:
            readBody(bytes, from: 0)
        case .head:
            readHead(bytes)
        case .idle:
            // Bytes without a request, such as a timeout message, must not become part of the next response.
            pool.remove(self)
            close()
        case .closed:
            break
        }
    }

    func streamReachedEnd(_ stream: TCPStream) {
        connectionEnded(brokenBy: nil)
    }

    func stream(_ stream: TCPStream, failed error: SocketError) {
        connectionEnded(brokenBy: error)
    }

    // MARK: - Reading

    private func readHead(_ bytes: Span<UInt8>) {
        exchange?.forgetRequest()
        do throws(HTTPError) {
            var start = 0
            if let partial {
                // Moved out, so that appending does not copy it.
                var all = ByteBuffer()
                swap(&all, &partial.bytes)
                all.append(bytes)
                if let head = try parse(all.bytes, from: &start, with: &partial.parser) {
                    self.partial = nil
                    try beginBody(head, all.bytes, from: start)
                } else {
                    all.removeFirst(start)
                    swap(&all, &partial.bytes)
                }
            } else {
                var parser = ResponseHeadParser(limits: pool.limits.head)
                if let head = try parse(bytes, from: &start, with: &parser) {
                    try beginBody(head, bytes, from: start)
                } else {
                    let partial = PartialHead(parser)
                    partial.bytes.append(bytes.extracting(start..<bytes.count))
                    self.partial = partial
                }
            }
        } catch {
            fail(.malformed, "\(pool.origin) sent bytes that are not HTTP: \(error.message)")
        }
    }

    /// Parses heads until the final one; `nil` if more bytes are needed.
    private func parse(
        _ bytes: Span<UInt8>, from start: inout Int, with parser: inout ResponseHeadParser
    ) throws(HTTPError) -> ResponseHead? {
        while let head = try parser.parse(bytes.extracting(start..<bytes.count)) {
            start += parser.consumed
            guard head.status.isInformational else { return head }
            // RFC 9110 15.2: a server may send interim responses at any time, but may not switch the protocol.
            guard head.status != .switchingProtocols, Int(interimHeads) < pool.limits.interimHeads else {
                throw HTTPError(.malformedStatusLine)
            }
            interimHeads += 1
            parser = ResponseHeadParser(limits: pool.limits.head)
        }
        return nil
    }

    private func beginBody(_ head: ResponseHead, _ bytes: Span<UInt8>, from start: Int) throws(HTTPError) {
        guard let exchange else { return }
        let framing = try BodyFraming.ofResponse(head, to: exchange.method)
        decoder = try BodyDecoder(framing: framing, limits: pool.limits.body)
        outlivesResponse = head.allowsPersistence && framing != .untilClose
        phase = .body
        exchange.delegate?.exchange(exchange, received: head)
        // Checked again, because the delegate may have cancelled.
        guard self.exchange === exchange else { return }
        readBody(bytes, from: start)
    }

    /// Delivers the data of one read in one call. A model server sends a chunk for each token, and one read may have many.
    private func readBody(_ bytes: Span<UInt8>, from start: Int) {
        guard let exchange else { return }
        var index = start
        var first = start..<start
        var gathered: ByteBuffer?
        let outcome = decode(bytes, from: &index, &first, &gathered)
        if let buffer = gathered.take() {
            exchange.delegate?.exchange(exchange, received: buffer.bytes)
            stream.shard.releaseBuffer(consume buffer)
        } else if !first.isEmpty {
            exchange.delegate?.exchange(exchange, received: bytes.extracting(first))
        }
        guard self.exchange === exchange else { return }
        switch outcome {
        case .success(true): finish(mayBeReused: index == bytes.count)
        case .success(false): break
        case .failure(let error):
            fail(.malformed, "\(pool.origin) sent a malformed body: \(error.message)")
        }
    }

    /// Decodes all bytes. One piece of data becomes a range of the bytes; several pieces are copied together.
    ///
    /// - Returns: whether the body is complete.
    private func decode(
        _ bytes: Span<UInt8>, from index: inout Int, _ first: inout Range<Int>, _ gathered: inout ByteBuffer?
    ) -> Result<Bool, HTTPError> {
        guard var decoder = decoder.take() else { return .success(false) }
        defer { self.decoder = decoder }
        do throws(HTTPError) {
            guard case .data(let range) = try decoder.next(bytes, from: &index) else {
                return .success(decoder.isComplete)
            }
            first = range
            guard case .data(let second) = try decoder.next(bytes, from: &index) else {
                return .success(decoder.isComplete)
            }
            var buffer = stream.shard.acquireBuffer()
            buffer.append(bytes.extracting(first))
            buffer.append(bytes.extracting(second))
            let outcome = Self.gather(bytes, from: &index, with: &decoder, into: &buffer)
            gathered = consume buffer
            return outcome
        } catch {
            return .failure(error)
        }
    }

    /// Copies all further pieces into a buffer.
    private static func gather(
        _ bytes: Span<UInt8>, from index: inout Int, with decoder: inout BodyDecoder, into buffer: inout ByteBuffer
    ) -> Result<Bool, HTTPError> {
        do throws(HTTPError) {
            return .success(try decoder.copyData(of: bytes, from: &index, to: &buffer))
        } catch {
            return .failure(error)
        }
    }

    // MARK: - The end

    /// Completes the response. The connection becomes idle if it can serve another request.
    private func finish(mayBeReused: Bool) {
        let exchange = exchange
        self.exchange = nil
        // Bytes after the response, or unsent bytes of the request, would become part of the next exchange.
        if mayBeReused, outlivesResponse, stream.unsentCount == 0, !stream.isClosed {
            phase = .idle
            isReused = true
            stream.resumeReading()
            pool.keep(self)
        } else {
            close()
        }
        // Last, because the delegate may start another exchange on this connection.
        exchange?.finish()
    }

    private func fail(_ code: HTTPClientError.Code, _ message: String) {
        let exchange = exchange
        close()
        exchange?.fail(HTTPClientError(code, message))
    }

    /// The peer sends no more bytes, because it ended the connection or because the connection broke.
    private func connectionEnded(brokenBy error: SocketError?) {
        switch phase {
        case .idle:
            pool.remove(self)
            close()
        case .head:
            let exchange = exchange
            let mayBeRepeated = isReused && !mayHaveBeenRead(brokenBy: error)
            close()
            if mayBeRepeated {
                exchange?.retry()
            } else {
                let reason = error?.message ?? "the connection ended before the response"
                exchange?.fail(HTTPClientError(.reset, "\(pool.origin): \(reason)"))
            }
        case .body:
            endBody(brokenBy: error)
        case .closed:
            break
        }
    }

    /// Whether the server may have read the request. Such a request is not sent again (RFC 9110 9.2.2).
    private func mayHaveBeenRead(brokenBy error: SocketError?) -> Bool {
        guard partial == nil, interimHeads == 0 else { return true }
        guard stream.sentCount > sentBefore else { return false }
        // An orderly end acknowledges the bytes that the server has read. A reset does not.
        guard error == nil, let unacknowledged = stream.unacknowledgedCount else { return true }
        // The system acknowledges bytes in order, so the last ones are those of the request.
        return unacknowledged < stream.transmittedCount - transmittedBefore
    }

    private func endBody(brokenBy error: SocketError?) {
        // A body without a length is complete only if the end is authentic, which TLS can tell.
        if error == nil, !stream.isTruncated {
            do throws(HTTPError) {
                try decoder?.endOfInput()
                finish(mayBeReused: false)
                return
            } catch {
                // The body is incomplete, as reported below.
            }
        }
        fail(.cut, "\(pool.origin): the response ended early\(error.map { ": \($0.message)" } ?? "")")
    }
}
