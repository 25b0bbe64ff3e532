import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// An answer of a model server of any dialect: it sends the request, limits the time and size of the answer, and delivers its lines.
/// Confined to its shard.
final class UpstreamGeneration: Generation, ExchangeDelegate {
    /// The limit of the stored body of an error answer, in bytes; the rest is dropped.
    private static let errorBodyLimit = 16 * 1024
    /// The limit of the body after the last line, in bytes; a longer rest closes the connection.
    private static let trailingLimit = 16 * 1024

    private enum Phase {
        /// The request is sent; no head has come.
        case waiting
        /// The answer is being received.
        case answering
        /// An error answer is being received: its head, and the beginning of its body.
        indirect case failing(ResponseHead, body: ByteBuffer)
        /// The consumer has the end; the rest of the body is read, so that the connection can be used again.
        case trailing
    }

    private let server: UpstreamModel
    private let isRecovery: Bool
    private let decoder: any AnswerDecoder
    /// The consumer until it has the end.
    private var consumer: (any GenerationConsumer)?
    var isOver: Bool { consumer == nil }
    /// The cancellation, for the thread that writes the body of a long request; `nil` if the event loop writes it.
    var isCancelled: Lock<Bool>?
    private var exchange: Exchange?
    private var timer: DeadlineTimer?
    private var shard: Shard?
    private var totalDeadline = Instant.distantFuture
    private var isPaused = false
    private var phase = Phase.waiting
    private var hasBegun = false
    /// Whether the answer is whole, and only its token counts are missing.
    private var isEnding = false
    private var answerSize = 0
    private var trailing = 0

    init(of server: UpstreamModel, for request: GenerationRequest, consumer: any GenerationConsumer) {
        self.server = server
        isRecovery = request.isRecovery
        decoder = server.dialect.makeDecoder(model: request.model, limits: server.limits, now: server.now)
        self.consumer = consumer
    }

    private var limits: GenerationLimits { server.limits }

    /// Timeout of the first byte, in nanoseconds.
    private var firstByte: UInt64 { isRecovery ? min(server.firstByte, server.silence) : server.firstByte }

    func start(_ exchange: Exchange, on shard: Shard) {
        self.exchange = exchange
        self.shard = shard
        totalDeadline = shard.now + limits.total
        timer = DeadlineTimer(on: shard) { [unowned self] in deadlinePassed() }
        if isPaused {
            exchange.pause()
            timer?.set(at: totalDeadline)
        } else {
            expect(within: firstByte)
        }
    }

    /// Ends the generation with an error that was found before anything was sent.
    func fail(_ error: ModelError, on shard: Shard) {
        let confined = Confined(self, to: shard)
        shard.run { confined.value.end(error) }
    }

    // MARK: - Generation

    func cancel() {
        consumer = nil
        isCancelled?.withLock { $0 = true }
        exchange?.cancel()
        release()
    }

    func pause() {
        // After the end no consumer would call `resume`, and the rest of the body must be read.
        guard !isPaused, !isOver else { return }
        isPaused = true
        exchange?.pause()
        timer?.set(at: totalDeadline)
    }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        exchange?.resume()
        if isEnding {
            timer?.set(after: limits.rest)
        } else {
            expect(within: hasBegun ? server.silence : firstByte)
        }
    }

    // MARK: - Ends

    /// Reports the end to the consumer.
    private func end(_ error: ModelError?) {
        guard let consumer else { return }
        self.consumer = nil
        if error == nil {
            phase = .trailing
            timer?.set(after: limits.rest)
            if isPaused {
                isPaused = false
                exchange?.resume()
            }
        } else {
            exchange?.cancel()
            release()
        }
        consumer.generationEnded(self, error: error?.concealing(server.key))
    }

    private func release() {
        timer?.cancel()
        timer = nil
        exchange = nil
    }

    private func expect(within limit: UInt64) {
        // A pause is not the model server's silence. Bytes that were read before the pause may still come.
        guard let shard, !isPaused else { return }
        timer?.set(at: min(shard.now.advanced(byNanoseconds: limit), totalDeadline))
    }

    private func deadlinePassed() {
        guard let shard else { return }
        if shard.now < totalDeadline {
            exchange?.readWaitingBytes()
            // These bytes may have ended the answer or set another deadline.
            guard let timer, !timer.isSet else { return }
        }
        if case .trailing = phase {
            cancel()
        } else if let failure {
            // The status alone determines the error if the body never ends.
            end(failure)
        } else if isEnding {
            conclude()
        } else if shard.now >= totalDeadline {
            end(.totalTimeout(limits.total))
        } else if !hasBegun {
            end(.firstByteTimeout(isRecovery ? min(limits.firstByte, limits.silence) : limits.firstByte))
        } else {
            end(.silenceTimeout(limits.silence))
        }
    }

    // MARK: - ExchangeDelegate

    func exchange(_ exchange: Exchange, received head: ResponseHead) {
        if head.status.isSuccess {
            guard head.fields.mediaType != .html else {
                end(.malformed("it sent a web page"))
                return
            }
            phase = .answering
        } else {
            phase = .failing(head, body: ByteBuffer())
            expect(within: server.silence)
        }
    }

    func exchange(_ exchange: Exchange, received body: Span<UInt8>) {
        switch phase {
        case .waiting:
            break
        case .answering:
            read(body)
        case .failing(let head, var beginning):
            phase = .waiting
            let room = Self.errorBodyLimit - beginning.count
            beginning.append(body.extracting(first: min(room, body.count)))
            let isFull = beginning.count == Self.errorBodyLimit
            phase = .failing(head, body: beginning)
            if isFull { end(failure) }
        case .trailing:
            trailing += body.count
            if trailing > Self.trailingLimit {
                cancel()
            }
        }
    }

    func exchangeEnded(_ exchange: Exchange) {
        switch phase {
        case .answering: conclude()
        case .failing: end(failure)
        case .waiting, .trailing: break
        }
        release()
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        if let failure {
            // The status determines the error.
            end(failure)
        } else if isEnding {
            conclude()
        } else {
            end(ModelError(error))
        }
        release()
    }

    /// The error of an error answer; `nil` for another one.
    private var failure: ModelError? {
        guard case .failing(let head, let body) = phase else { return nil }
        var error = server.dialect.error(status: head.status, fields: head.fields, body: body.bytes)
        error.retryAfter = head.fields.retryAfter(now: server.now() / 1_000_000_000)
        return error
    }

    // MARK: - The answer

    private func read(_ bytes: Span<UInt8>) {
        guard !isOver else { return }
        let hasProgressed: Bool
        do throws(ModelError) {
            hasProgressed = try decoder.read(bytes) { deliver($0) }
        } catch {
            end(error)
            return
        }
        // Check again: the last line may have come, or the consumer may have cancelled.
        guard !isOver, hasProgressed, !isEnding else { return }
        hasBegun = true
        if decoder.isWhole {
            isEnding = true
            if !isPaused {
                timer?.set(after: limits.rest)
            }
        } else {
            expect(within: server.silence)
        }
    }

    /// Ends the answer with the part that the decoder has.
    private func conclude() {
        guard !isOver else { return }
        do throws(ModelError) {
            try decoder.finish { deliver($0) }
        } catch {
            end(error)
            return
        }
        end(.incomplete(hasBegun: hasBegun))
    }

    /// Delivers the lines of a run. Returns whether the consumer still exists.
    private func deliver(_ lines: LineRun) -> Bool {
        guard let consumer else { return false }
        let size = lines.answerSize
        guard size <= limits.answer - answerSize else {
            var fitting = 0
            while answerSize + lines.answerSize(at: fitting) <= limits.answer {
                answerSize += lines.answerSize(at: fitting)
                fitting += 1
            }
            if fitting > 0 {
                consumer.generation(self, lines: lines.first(fitting))
            }
            end(.answerTooLarge(limits))
            return false
        }
        answerSize += size
        consumer.generation(self, lines: lines)
        if lines.isDone {
            end(nil)
        }
        return !isOver
    }
}
