import Bytes
import HTTP
import HTTPClient
import Sockets

/// One answer of a model server that is awaited as a whole, with a limit on its size and on its time. Confined to its shard.
final class SmallExchange: ExchangeDelegate, @unchecked Sendable {
    /// The longest answer that is read, in bytes.
    static let limit = 4 << 20

    /// An answer with a status of success.
    typealias Outcome = Result<ByteBuffer, ModelError>

    private let shard: Shard
    private let path: String
    private var continuation: CheckedContinuation<Outcome, Never>?
    private var exchange: Exchange?
    private var timer: DeadlineTimer?
    private var head: ResponseHead?
    private var body = ByteBuffer()

    private init(_ path: String, on shard: Shard) {
        self.path = path
        self.shard = shard
    }

    /// Asks for a path; must be called on the shard.
    ///
    /// A task that is cancelled gives the answer up at once, as if its time were over.
    static func get(
        _ path: String, of origin: Origin, fields: Fields, client: HTTPClient, on shard: Shard, within limit: Duration
    ) async -> Outcome {
        let small = SmallExchange(path, on: shard)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                small.continuation = continuation
                small.timer = DeadlineTimer(on: shard) { [unowned small] in small.giveUp() }
                small.timer?.set(after: limit)
                small.exchange = client.start(
                    OutgoingRequest(.get, path, fields: fields), to: origin, delegate: small)
            }
        } onCancel: {
            shard.run { small.giveUp() }
        }
    }

    private func giveUp() {
        end(
            .failure(
                ModelError(
                    .firstByteTimeout, "The model server did not say in time which models it has.",
                    detail: "no answer to \(path) in time")))
    }

    private func end(_ outcome: Outcome) {
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
        let body = body
        if !head.status.isSuccess {
            end(
                .failure(
                    ModelError(
                        status: head.status, said: UpstreamErrorBody(body.bytes),
                        unknownPath: "\(path): is it of the kind that its description says?")))
        } else if head.fields.mediaType == .html {
            end(.failure(.malformed("it sent a web page")))
        } else {
            end(.success(body))
        }
    }

    func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
        end(.failure(ModelError(error)))
    }
}
