#if os(Linux)
    import ChatterdBasics
    import ChatterdHTTP
    import ChatterdHTTPClient
    import ChatterdSockets

    /// One request over our own sockets, whose response is pulled by its reader. Confined to its shard.
    ///
    /// A reader that does not keep up makes it stop reading from the socket, so that memory stays bounded.
    final class SocketExchange: ExchangeDelegate {
        /// The unread bytes from which on the socket is not read.
        private static let bufferLimit = 256 * 1024

        private let shard: Shard
        /// The longest silence of the server.
        private let silence: Duration
        private var exchange: Exchange?
        private var timer: DeadlineTimer?
        private var headReader: CheckedContinuation<Result<ResponseHead, ChatterError>, Never>?
        private var bodyReader: CheckedContinuation<Result<[UInt8]?, ChatterError>, Never>?
        private var buffer: [UInt8] = []
        /// How the response ended; `nil` before.
        private var end: Result<Void, ChatterError>?

        init(on shard: Shard, silence: Duration) {
            self.shard = shard
            self.silence = silence
        }

        /// Sends a request, and waits for the head.
        func start(
            _ request: OutgoingRequest, to origin: Origin, _ client: HTTPClient,
            _ reader: CheckedContinuation<Result<ResponseHead, ChatterError>, Never>
        ) {
            // The task may have been cancelled before.
            if case .failure(let error) = end { return reader.resume(returning: .failure(error)) }
            headReader = reader
            timer = DeadlineTimer(on: shard) { [unowned self] in
                exchange?.readWaitingBytes()
                guard let timer, !timer.isSet else { return }
                finish(.failure(.connectionLost("The server is silent for too long.")))
            }
            timer?.set(after: silence)
            exchange = client.start(request, to: origin, delegate: self)
        }

        /// Waits for the next bytes; `nil` at the end.
        func read(_ reader: CheckedContinuation<Result<[UInt8]?, ChatterError>, Never>) {
            if !buffer.isEmpty {
                reader.resume(returning: .success(takeBuffer()))
            } else if let end {
                reader.resume(returning: end.map { nil })
            } else {
                bodyReader = reader
            }
        }

        /// Ends the exchange, and closes its connection unless the response is complete.
        func cancel() {
            finish(.failure(.cancelled))
        }

        private func takeBuffer() -> [UInt8] {
            let bytes = buffer
            buffer = []
            if exchange?.isOver == false {
                exchange?.resume()
                timer?.set(after: silence)
            }
            return bytes
        }

        private func finish(_ outcome: Result<Void, ChatterError>) {
            guard end == nil else { return }
            end = outcome
            exchange?.cancel()
            exchange = nil
            timer = nil
            if case .failure(let error) = outcome {
                headReader.take()?.resume(returning: .failure(error))
            }
            bodyReader.take()?.resume(returning: outcome.map { nil })
        }

        // MARK: - ExchangeDelegate

        func exchange(_ exchange: Exchange, received head: ResponseHead) {
            timer?.set(after: silence)
            headReader.take()?.resume(returning: .success(head))
        }

        func exchange(_ exchange: Exchange, received body: Span<UInt8>) {
            timer?.set(after: silence)
            body.withUnsafeBufferPointer { buffer.append(contentsOf: $0) }
            if let reader = bodyReader.take() {
                reader.resume(returning: .success(takeBuffer()))
            } else if buffer.count >= Self.bufferLimit {
                exchange.pause()
                timer?.cancel()
            }
        }

        func exchangeEnded(_ exchange: Exchange) {
            finish(.success(()))
        }

        func exchange(_ exchange: Exchange, failed error: HTTPClientError) {
            finish(.failure(ChatterError(error)))
        }
    }
#endif
