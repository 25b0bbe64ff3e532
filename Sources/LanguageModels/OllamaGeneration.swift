import Bytes
import HTTP
import HTTPClient
import Sockets

/// An answer of Ollama's `/api/chat`: its lines, checked, limited and handed on. Confined to its shard.
final class OllamaGeneration: Generation, ExchangeDelegate {
    /// What is kept of the body of an error answer, in bytes.
    private static let errorBodyLimit = 16 * 1024
    /// What may follow the last line before the connection is given up, in bytes and in time.
    private static let trailingLimit = 16 * 1024
    private static let trailingTime = Duration.seconds(2)

    private enum Phase {
        /// The request is sent; no head has come.
        case waiting
        /// The lines come in.
        case answering
        /// An error answer comes in.
        case failing(Status)
        /// The consumer knows the end; the rest of the body is awaited, so that the connection can be used again.
        case trailing
    }

    private let model: String
    private let limits: GenerationLimits
    private let now: @Sendable () -> Int64
    private var consumer: (any GenerationConsumer)?
    private var exchange: Exchange?
    private var timer: DeadlineTimer?
    private var shard: Shard?
    private var totalDeadline = UInt64.max
    /// The limits on waiting in nanoseconds: they are needed for every read.
    private let firstByte: UInt64
    private let silence: UInt64
    private var isPaused = false
    private var phase = Phase.waiting
    private var lines: LineSplitter
    private let template = OllamaLineTemplate()
    private var hasLines = false
    private var answerSize = 0
    private var trailing = 0
    private var errorBody = ByteBuffer()

    init(
        model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64, consumer: any GenerationConsumer
    ) {
        self.model = model
        self.limits = limits
        self.now = now
        self.consumer = consumer
        firstByte = limits.firstByte.nanoseconds
        silence = limits.silence.nanoseconds
        lines = LineSplitter(limit: limits.line)
    }

    func start(_ exchange: Exchange, on shard: Shard) {
        self.exchange = exchange
        self.shard = shard
        totalDeadline = shard.now &+ limits.total.nanoseconds
        timer = DeadlineTimer(on: shard) { [unowned self] in deadlinePassed() }
        expect(within: firstByte)
    }

    // MARK: - Generation

    func cancel() {
        consumer = nil
        exchange?.cancel()
        release()
    }

    func pause() {
        guard !isPaused else { return }
        isPaused = true
        exchange?.pause()
        timer?.set(at: totalDeadline)
    }

    func resume() {
        guard isPaused else { return }
        isPaused = false
        exchange?.resume()
        expect(within: hasLines ? silence : firstByte)
    }

    // MARK: - Ends

    /// Tells the consumer the end.
    private func end(_ error: ModelError?) {
        guard let consumer else { return }
        self.consumer = nil
        if error == nil {
            phase = .trailing
            timer?.set(after: Self.trailingTime)
            if isPaused {
                isPaused = false
                exchange?.resume()
            }
        } else {
            exchange?.cancel()
            release()
        }
        consumer.generationEnded(self, error: error)
    }

    private func release() {
        timer?.cancel()
        timer = nil
        exchange = nil
    }

    private func expect(within limit: UInt64) {
        // Silence of our own making is not the model server's; what was read before a pause still comes.
        guard let shard, !isPaused else { return }
        timer?.set(at: min(shard.now &+ limit, totalDeadline))
    }

    private func deadlinePassed() {
        guard let shard else { return }
        if case .trailing = phase {
            cancel()
        } else if case .failing(let status) = phase {
            // The status has said it, even if its body never ends.
            end(failure(status))
        } else if shard.now >= totalDeadline {
            end(
                ModelError(
                    .totalTimeout, "The answer took longer than \(limits.total), and was ended.",
                    detail: "no end within \(limits.total)"))
        } else if !hasLines {
            end(
                ModelError(
                    .firstByteTimeout, "The model server did not begin to answer within \(limits.firstByte).",
                    detail: "no byte within \(limits.firstByte)"))
        } else {
            end(
                ModelError(
                    .silenceTimeout, "The model server fell silent in the middle of its answer.",
                    detail: "no byte for \(limits.silence)"))
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
            phase = .failing(head.status)
            expect(within: silence)
        }
    }

    func exchange(_ exchange: Exchange, received body: Span<UInt8>) {
        switch phase {
        case .waiting:
            break
        case .answering:
            hasLines = true
            expect(within: silence)
            read(body)
        case .failing(let status):
            let room = Self.errorBodyLimit - errorBody.count
            errorBody.append(body.extracting(first: min(room, body.count)))
            if errorBody.count == Self.errorBodyLimit {
                end(failure(status))
            }
        case .trailing:
            trailing += body.count
            if trailing > Self.trailingLimit {
                cancel()
            }
        }
    }

    func exchangeEnded(_ exchange: Exchange) {
        switch phase {
        case .answering:
            lines.finish { line in
                if let consumer { take(line, for: consumer) }
            }
            end(
                ModelError(
                    .incomplete,
                    hasLines
                        ? "The model server ended its answer before it was complete."
                        : "The model server's answer was empty.",
                    detail: "the body ended without a line with \"done\":true"))
        case .failing(let status):
            end(failure(status))
        case .waiting, .trailing:
            break
        }
        release()
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        if case .failing(let status) = phase {
            // The status has said it already.
            end(failure(status))
        } else {
            end(ModelError(error))
        }
        release()
    }

    private func failure(_ status: Status) -> ModelError {
        let body = errorBody
        return ModelError(status: status, body: body.bytes)
    }

    // MARK: - Lines

    private func read(_ bytes: Span<UInt8>) {
        guard let consumer else { return }
        var index = 0
        let outcome = lines.feed(bytes, from: &index) { line in
            self.take(line, for: consumer)
            return self.consumer == nil ? .stop : .goOn
        }
        if outcome == .tooLong {
            end(.malformed("a line of it is longer than \(limits.line) bytes"))
        }
    }

    /// Hands on one line, repaired and completed where it needs it.
    private func take(_ line: Span<UInt8>, for consumer: any GenerationConsumer) {
        guard !line.isEmpty else { return }
        if let fields = template.read(line) {
            deliver(line, fields, to: consumer)
            return
        }
        do throws(JSONError) {
            let fields = try OllamaLine(line)
            template.learn(line, fields)
            if fields.needsRepair {
                var repaired = ByteBuffer()
                repaired.append(repairingJSON: line)
                let bytes = repaired.bytes
                complete(bytes, try OllamaLine(bytes), for: consumer)
            } else {
                complete(line, fields, for: consumer)
            }
        } catch {
            end(.malformed("a line of it is not a JSON object", detail: "\(error)"))
        }
    }

    private func complete(_ line: Span<UInt8>, _ fields: OllamaLine, for consumer: any GenerationConsumer) {
        if let error = fields.error {
            end(ModelError(.failed, error.text(in: line)))
        } else if fields.missing.isEmpty {
            deliver(line, fields, to: consumer)
        } else {
            var completed = ByteBuffer()
            completed.append(completing: fields, in: line, model: model, createdAt: now())
            let bytes = completed.bytes
            // Made from a line that reads, by adding members: it reads.
            guard let fields = try? OllamaLine(bytes) else { return }
            deliver(bytes, fields, to: consumer)
        }
    }

    private func deliver(_ line: Span<UInt8>, _ fields: OllamaLine, to consumer: any GenerationConsumer) {
        answerSize +=
            (fields.content?.range.count ?? 0) + (fields.thinking?.range.count ?? 0) + (fields.toolCalls?.count ?? 0)
        guard answerSize <= limits.answer else {
            end(
                ModelError(
                    .answerTooLarge, "The answer grew beyond \(limits.answer) bytes, and was ended.",
                    detail: "more than \(limits.answer) bytes"))
            return
        }
        consumer.generation(self, line: line, fields: fields)
        if fields.isDone {
            end(nil)
        }
    }
}

extension ModelError {
    /// What came is not an answer of Ollama's.
    fileprivate static func malformed(_ reason: String, detail: String = "") -> ModelError {
        ModelError(
            .malformed, "The model server's answer cannot be read: \(reason).", detail: detail.isEmpty ? reason : detail
        )
    }

    /// Makes the error of an exchange that failed.
    public init(_ error: HTTPClientError) {
        switch error.code {
        case .connectTimedOut:
            self.init(
                .connectTimeout, "The model server cannot be reached: no connection in time.", detail: error.message)
        case .cut:
            self.init(
                .incomplete, "The connection to the model server broke in the middle of its answer.",
                detail: error.message)
        case .malformed:
            self.init(.malformed, "The model server's answer cannot be read: it is not HTTP.", detail: error.message)
        case .reset:
            self.init(.unavailable, "The model server closed the connection before it answered.", detail: error.message)
        default:
            self.init(.unavailable, "The model server cannot be reached.", detail: error.message)
        }
    }

    /// Makes the error of an answer with another status than 200; Ollama says `{"error":"text"}`.
    init(status: Status, body: Span<UInt8>) {
        let said = (try? OllamaLine(body))?.error?.text(in: body)
        let detail = "status \(status.code)\(said.map { ": \($0)" } ?? "")"
        switch status.code {
        case 404:
            if let said {
                self.init(.modelNotFound, said, detail: detail)
            } else {
                self.init(
                    .rejected, "The model server does not know /api/chat: is it an Ollama server?", detail: detail)
            }
        case 300..<400:
            self.init(
                .malformed,
                "The model server answered with a redirect, which is not followed: its URL must be corrected.",
                detail: detail)
        case 429, 503:
            self.init(.busy, said ?? "The model server is too busy. Try again in a moment.", detail: detail)
        case 401, 403:
            self.init(.rejected, said ?? "The model server refused access: its key must be corrected.", detail: detail)
        case 408, 500...:
            self.init(.failed, said ?? "The model server failed with status \(status.code).", detail: detail)
        default:
            self.init(
                .rejected, said ?? "The model server refused the request with status \(status.code).", detail: detail)
        }
    }
}
