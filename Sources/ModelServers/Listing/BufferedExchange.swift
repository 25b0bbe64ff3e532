import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdLanguageModels
import ChatterdSockets

/// One exchange with a model server whose answer is collected whole, within limits on its size and its time. Confined to its shard.
final class BufferedExchange: ExchangeDelegate {
    /// The limit of an answer, in bytes. A longer one is `malformed`.
    static let limit = 4 << 20

    /// An answer of any status.
    struct Answer {
        let head: ResponseHead
        let body: ByteBuffer
    }

    /// The body of a successful answer.
    typealias Outcome = Result<ByteBuffer, ModelError>

    private let shard: Shard
    private let path: String
    private var continuation: CheckedContinuation<Result<Answer, ModelError>, Never>?
    private var exchange: Exchange?
    private var timer: DeadlineTimer?
    private var head: ResponseHead?
    private var body = ByteBuffer()

    private init(_ path: String, on shard: Shard) {
        self.path = path
        self.shard = shard
    }

    /// Gets a path. Call it on the shard. Cancellation of the task ends it at once, like the timeout.
    static func get(
        _ path: String, of origin: Origin, fields: Fields, client: HTTPClient, on shard: Shard, within limit: Duration
    ) async -> Outcome {
        var fields = fields
        fields.remove(.contentType)
        let request = OutgoingRequest(.get, path, fields: fields)
        switch await send(request, to: origin, client: client, on: shard, within: limit) {
        case .failure(let error): return .failure(error)
        case .success(let answer): return answer.success(of: path)
        }
    }

    /// Sends a request and returns an answer of any status. Call it on the shard. Cancellation of the task ends it at once, like the
    /// timeout.
    static func send(
        _ request: OutgoingRequest, to origin: Origin, client: HTTPClient, on shard: Shard, within limit: Duration
    ) async -> Result<Answer, ModelError> {
        let buffered = BufferedExchange(request.path, on: shard)
        let confined = Confined(buffered, to: shard)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                buffered.continuation = continuation
                buffered.timer = DeadlineTimer(on: shard) { [unowned buffered] in buffered.timeOut() }
                buffered.timer?.set(after: limit)
                buffered.exchange = client.start(request, to: origin, delegate: buffered)
            }
        } onCancel: {
            shard.run { confined.value.timeOut() }
        }
    }

    private func timeOut() {
        end(
            .failure(
                ModelError(
                    .firstByteTimeout, "The model server did not say in time which models it has.",
                    detail: "no answer to \(path) in time")))
    }

    private func end(_ outcome: Result<Answer, ModelError>) {
        guard let continuation else { return }
        self.continuation = nil
        exchange?.cancel()
        exchange = nil
        timer = nil
        continuation.resume(returning: outcome)
    }

    // MARK: - ExchangeDelegate

    func exchange(_ exchange: Exchange, received head: ResponseHead) {
        self.head = head
    }

    func exchange(_ exchange: Exchange, received bytes: Span<UInt8>) {
        guard body.count + bytes.count <= Self.limit else {
            end(.failure(.malformed("its list of models is longer than \(Self.limit) bytes")))
            return
        }
        body.append(bytes)
    }

    func exchangeEnded(_ exchange: Exchange) {
        guard let head else { return }
        end(.success(Answer(head: head, body: body)))
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        end(.failure(ModelError(error)))
    }
}

extension BufferedExchange.Answer {
    /// The body of a successful answer that is not a web page.
    fileprivate func success(of path: String) -> BufferedExchange.Outcome {
        if !head.status.isSuccess {
            return .failure(
                ModelError(
                    status: head.status, report: UpstreamErrorBody(body.bytes),
                    unknownPath: "\(path): is it of the kind that its description says?"))
        }
        return head.fields.mediaType == .html ? .failure(.malformed("it sent a web page")) : .success(body)
    }
}
