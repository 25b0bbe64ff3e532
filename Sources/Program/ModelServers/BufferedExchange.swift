import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// An exchange with a model server whose answer is collected whole.
enum BufferedExchange {
    /// The limit of an answer, in bytes. A longer one is `malformed`.
    static let limit = 4 << 20

    /// The body of a successful answer.
    typealias Outcome = Result<ByteBuffer, ModelError>

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
    ) async -> Result<CollectedExchange.Response, ModelError> {
        let path = request.path
        return await CollectedExchange.run(
            request, to: origin, client: client, on: shard, upTo: Self.limit, within: limit
        ).mapError { failure in
            switch failure {
            case .timedOut:
                ModelError(
                    .firstByteTimeout, "The model server did not say in time which models it has.",
                    detail: "no answer to \(path) in time")
            case .tooLarge: .malformed("its list of models is longer than \(Self.limit) bytes")
            case .failed(let error): ModelError(error)
            }
        }
    }
}

extension CollectedExchange.Response {
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
