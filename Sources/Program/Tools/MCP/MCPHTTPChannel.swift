import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// Requests of the Model Context Protocol to a URL ("streamable HTTP"). Confined to its shard.
///
/// Each request is a POST, whose answer is a message or a stream of events with one. No redirect is followed.
final class MCPHTTPChannel: MCPChannel {
    private let transport: MCPDescription.HTTPTransport
    private let shard: Shard
    private let client: HTTPClient
    /// The id that the server has given to the session; `nil` without a session.
    private var session: FieldValue?
    private(set) var generation = 0
    /// The revision of the last message.
    private var revision: MCPRevision?

    init(_ transport: MCPDescription.HTTPTransport, on shard: Shard) {
        self.transport = transport
        self.shard = shard
        var limits = HTTPClientLimits()
        limits.idleConnections = 4
        limits.allowsPrivate = transport.allowsPrivate
        client = HTTPClient(shard: shard, limits: limits)
    }

    func result(of request: MCPRequest, within limit: Duration) async -> Result<JSONSlice, MCPFailure> {
        guard !Task.isCancelled else { return .failure(.timedOut) }
        let isFirst = request.method == "initialize"
        let sent = isFirst ? nil : session
        revision = request.revision
        let reader = MCPEventReader(id: request.id)
        let fields = fields(of: isFirst ? nil : request.revision, request, in: sent)
        let outcome = await CollectedExchange.run(
            OutgoingRequest(.post, transport.path, fields: fields, body: request.json), to: transport.origin,
            client: client, on: shard, upTo: MCPAnswer.maximumSize, within: limit,
            until: { head, bytes in head.isEventStream && reader.read(bytes) })
        switch outcome {
        case .success(let response):
            if isFirst { session = response.head.fields[.mcpSessionID].flatMap { FieldValue(validating: $0) } }
            if response.head.status.code == 404, let sent { return .failure(ended(sent)) }
            return await result(of: response, reader, to: request)
        case .failure(.timedOut):
            cancel(request)
            return .failure(.timedOut)
        case .failure(.tooLarge): return .failure(.tooLarge)
        case .failure(.failed(let error)): return .failure(.unusable(error.message))
        }
    }

    /// Handles a 404 to a request of a session. A late request may belong to an earlier session than the present one.
    private func ended(_ sent: FieldValue) -> MCPFailure {
        if session == sent {
            session = nil
            generation += 1
        }
        return .sessionEnded
    }

    private func result(
        of response: CollectedExchange.Response, _ reader: MCPEventReader, to request: MCPRequest
    ) async -> Result<JSONSlice, MCPFailure> {
        let body = response.body
        let answer =
            response.head.isEventStream
            ? reader.answer : await LongWork.run(on: body.count) { MCPAnswer.read(body.array) }
        // Refusals of the stateless revision have a message, and a status that says the same.
        if case .answer(request.id, let result) = answer { return result }
        let status = response.head.status.code
        guard 200..<300 ~= status else {
            let text = String(decoding: body.array.prefix(200), as: UTF8.self)
            return .failure(.unusable("the server answered with status \(status): \(text)"))
        }
        return .failure(.unusable("the server answered without a message of the protocol"))
    }

    /// Cancels a request at the server. In the stateless revision the end of the connection cancels it.
    private func cancel(_ request: MCPRequest) {
        guard case .handshake = request.revision, let message = request.cancellation else { return }
        let own = Confined(self, to: shard)
        Task(executorPreference: shard) { await own.value.notify(message, request.revision) }
    }

    func notify(_ message: [UInt8], _ revision: MCPRevision) async {
        _ = await CollectedExchange.run(
            OutgoingRequest(.post, transport.path, fields: fields(of: revision, in: session), body: message),
            to: transport.origin, client: client, on: shard, upTo: MCPAnswer.maximumSize, within: .seconds(5))
    }

    func close() async {
        guard session != nil else { return }
        _ = await CollectedExchange.run(
            OutgoingRequest(.delete, transport.path, fields: fields(of: revision, in: session)), to: transport.origin,
            client: client, on: shard, upTo: MCPAnswer.maximumSize, within: .seconds(1))
        session = nil
    }

    /// The fields of a message.
    ///
    /// - Parameter revision: the revision of the connection; `nil` for its first request.
    private func fields(of revision: MCPRevision?, _ request: MCPRequest? = nil, in session: FieldValue?) -> Fields {
        var fields = transport.fields
        fields.add(.contentType, "application/json")
        fields.add(.accept, "application/json, text/event-stream")
        if let session { fields.add(.mcpSessionID, session) }
        guard let revision, let version = FieldValue(validating: revision.version) else { return fields }
        fields.add(.mcpProtocolVersion, version)
        guard let request, revision == .stateless else { return fields }
        if let method = FieldValue(validating: request.method) { fields.add(.mcpMethod, method) }
        if let name = request.name { fields.add(.mcpName, Self.fieldValue(of: name)) }
        return fields
    }

    /// A name as a field: in Base64 with marks around it if it has other characters than visible ASCII.
    private static func fieldValue(of name: String) -> FieldValue {
        let isPlain = !name.isEmpty && name.utf8.allSatisfy { 0x21...0x7E ~= $0 } && !name.hasPrefix("=?base64?")
        var text = ByteBuffer()
        text.append("=?base64?")
        text.append(base64: name.utf8.span)
        text.append("?=")
        return FieldValue(validating: isPlain ? name : String(decoding: text.array, as: UTF8.self)) ?? ""
    }
}

/// Reads the events of an answer up to the message that answers a request.
private final class MCPEventReader {
    private let id: Int
    private var decoder: EventDecoder
    private(set) var answer: MCPAnswer.Kind?

    init(id: Int) {
        self.id = id
        var limits = EventLimits()
        (limits.line, limits.data) = (MCPAnswer.maximumSize, MCPAnswer.maximumSize)
        decoder = EventDecoder(limits: limits)
    }

    /// Reads bytes; returns whether the answer is complete, or will never be.
    func read(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        do throws(HTTPError) {
            while try decoder.next(bytes, from: &index) {
                let message = MCPAnswer.read(decoder.data.array)
                guard case .answer(id, _) = message else { continue }
                answer = message
                return true
            }
            return false
        } catch {
            return true
        }
    }
}

extension ResponseHead {
    fileprivate var isEventStream: Bool {
        fields.mediaType == .eventStream
    }
}

extension FieldName {
    fileprivate static let mcpMethod = FieldName(lowercase: "mcp-method")
    fileprivate static let mcpName = FieldName(lowercase: "mcp-name")
    fileprivate static let mcpProtocolVersion = FieldName(lowercase: "mcp-protocol-version")
    fileprivate static let mcpSessionID = FieldName(lowercase: "mcp-session-id")
}
