import ChatterdHTTP

extension ChatterClient {
    /// The limit of a response that is not a stream, in bytes.
    static let responseLimit = 64 << 20
    /// The limit of the body of an error, in bytes.
    private static let errorLimit = 64 << 10

    /// Sends a request with the credential. Returns a successful response.
    func response(to request: ClientRequest) async throws(ChatterError) -> ClientResponse {
        switch credential {
        case .app(let name):
            guard let value = FieldValue(validating: name) else {
                throw .malformed("The name of the app cannot be sent in a field.")
            }
            return try await response(to: request, .xAppID, value)
        case .bearer(let key):
            return try await response(to: request, bearer: key)
        case .tokens(let source):
            let token = try await source.token()
            do throws(ChatterError) {
                return try await response(to: request, bearer: token)
            } catch {
                // A refused request has had no effect. The token may have been revoked, or the clock of its lifetime was wrong.
                guard case .unauthorized(let refusal) = error, refusal.code == "unauthorized" else { throw error }
                return try await response(to: request, bearer: try await source.token(insteadOf: token))
            }
        }
    }

    private func response(to request: ClientRequest, bearer key: String) async throws(ChatterError) -> ClientResponse {
        guard let value = FieldValue(validating: "Bearer \(key)") else {
            throw .malformed("The key has characters that no key has.")
        }
        return try await response(to: request, .authorization, value)
    }

    /// Sends a request with the field of a credential.
    private func response(
        to request: ClientRequest, _ name: FieldName, _ value: FieldValue
    ) async throws(ChatterError) -> ClientResponse {
        var request = request
        request.fields.add(name, value)
        let response = try await transport.send(request)
        if response.head.status.isSuccess { return response }
        let body = try await response.body.collect(upTo: Self.errorLimit)
        throw ChatterError(
            status: response.head.status.code, retryAfter: response.head.fields[.retryAfter].flatMap { Int($0) },
            body: body)
    }

    /// Sends a request, and decodes the response.
    func result<Value: Decodable>(of request: ClientRequest) async throws(ChatterError) -> Value {
        let body = try await response(to: request).body.collect(upTo: Self.responseLimit)
        return try JSON.decode(Value.self, from: body)
    }

    /// Sends a request with a body of JSON, and decodes the response.
    func result<Value: Decodable>(
        of method: Method, _ path: String, _ body: some Encodable
    ) async throws(ChatterError) -> Value {
        try await result(of: ClientRequest(method, path, json: try JSON.encode(body)))
    }

    /// The events of a run. They are read when they are awaited; the connection is closed when the iteration ends.
    func stream<Run: ResumableRun>(
        _ make: @escaping @Sendable () throws(ChatterError) -> Run
    ) -> AsyncThrowingStream<Run.Event, any Error> {
        let reader = StreamReader(self, make)
        return AsyncThrowingStream { try await reader.next() }
    }

    /// A response of which no member matters.
    struct Empty: Decodable {}
}
