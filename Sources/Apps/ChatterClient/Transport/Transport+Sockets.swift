#if os(Linux)
    import ChatterdBasics
    import ChatterdHTTP
    import ChatterdHTTPClient
    import ChatterdSockets

    extension Transport {
        /// The event loop of all clients of the process.
        private static let shard = Result { () throws(SocketError) in try Shard(index: 0) }

        /// A transport over our own sockets, with TLS by OpenSSL and the authorities of the system.
        ///
        /// - Throws: `invalidURL`; `unreachable` if the process has no descriptors left.
        package static func system(
            to url: String, silence: Duration = chatterdSilence
        ) throws(ChatterError) -> Transport {
            let origin: Origin
            do throws(HTTPClientError) {
                origin = try Origin(parsing: url)
            } catch {
                throw ChatterError(error)
            }
            let shard: Shard
            do throws(SocketError) {
                shard = try Self.shard.get()
            } catch {
                throw .unreachable("This process cannot open sockets: \(error.message)")
            }
            var limits = HTTPClientLimits()
            limits.allowsLinkLocal = true
            let client = Confined(HTTPClient(shard: shard, limits: limits), to: shard)
            return Transport { request throws(ChatterError) in
                try await send(request, to: origin, client, on: shard, silence)
            }
        }

        private static func send(
            _ request: ClientRequest, to origin: Origin, _ client: Confined<HTTPClient>, on shard: Shard,
            _ silence: Duration
        ) async throws(ChatterError) -> ClientResponse {
            let exchange = Confined(SocketExchange(on: shard, silence: silence), to: shard)
            let outgoing = OutgoingRequest(request.method, request.path, fields: request.fields, body: request.body)
            let close: @Sendable () -> Void = { shard.run { exchange.value.cancel() } }
            let head = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    shard.run { exchange.value.start(outgoing, to: origin, client.value, continuation) }
                }
            } onCancel: {
                close()
            }
            let body = ResponseBody(
                read: { () throws(ChatterError) in
                    try await withTaskCancellationHandler {
                        await withCheckedContinuation { continuation in
                            shard.run { exchange.value.read(continuation) }
                        }
                    } onCancel: {
                        close()
                    }.get()
                }, close: close)
            return ClientResponse(head: try head.get(), body: body)
        }
    }

    extension ChatterError {
        init(_ error: HTTPClientError) {
            switch error.code {
            case .invalidURL: self = .invalidURL("The address is \(error.message).")
            case .unresolvable, .forbiddenAddress, .refused, .connectTimedOut:
                self = .unreachable("The server cannot be reached: \(error.message).")
            case .tls: self = .untrusted("The connection to the server is not secure: \(error.message).")
            case .reset, .cut, .other:
                self = .connectionLost("The connection to the server was lost: \(error.message).")
            case .malformed: self = .malformed("The answer of the server is not HTTP: \(error.message).")
            }
        }
    }
#endif
