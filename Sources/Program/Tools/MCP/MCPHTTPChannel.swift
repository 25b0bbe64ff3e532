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
    /// What the server has called the session; `nil` if it has none.
    private var session: FieldValue?
    private(set) var generation = 0
    /// That of the last message.
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
        revision = request.revision
        let isFirst = request.method == "initialize"
        if isFirst { session = nil }
        let reader = MCPEventReader(id: request.id)
        let outcome = await CollectedExchange.run(
            OutgoingRequest(
                .post, transport.path, fields: fields(for: request, isFirst ? nil : request.revision),
                body: request.json),
            to: transport.origin, client: client, on: shard, upTo: MCPAnswer.maximumSize, within: limit,
            until: { head, bytes in head.isEventStream && reader.read(bytes) })
        switch outcome {
        case .success(let response): return await result(of: response, reader, to: request)
        case .failure(.timedOut): return .failure(.timedOut)
        case .failure(.tooLarge): return .failure(.tooLarge)
        case .failure(.failed(let error)): return .failure(.unusable(error.message))
        }
    }

    private func result(
        of response: CollectedExchange.Response, _ reader: MCPEventReader, to request: MCPRequest
    ) async -> Result<JSONSlice, MCPFailure> {
        let status = response.head.status.code
        if request.method == "initialize", 200..<300 ~= status {
            session = response.head.fields[.mcpSessionID].flatMap { FieldValue(validating: $0) }
        }
        let body = response.body
        let answer =
            response.head.isEventStream
            ? reader.answer : await LongWork.run(on: body.count) { MCPAnswer.read(body.array) }
        // Refusals of the stateless revision have a message, and a status that says the same.
        if case .answer(_, let result) = answer { return result }
        // Some servers answer 400 where the protocol has 404.
        if status == 404 || status == 400, session != nil {
            session = nil
            generation += 1
            return .failure(.sessionEnded)
        }
        guard 200..<300 ~= status else {
            let text = String(decoding: response.body.array.prefix(200), as: UTF8.self)
            return .failure(.unusable("the server answered with status \(status): \(text)"))
        }
        return .failure(.unusable("the server answered without a message of the protocol"))
    }

    func notify(_ message: [UInt8], _ revision: MCPRevision) async {
        _ = await CollectedExchange.run(
            OutgoingRequest(.post, transport.path, fields: fields(revision), body: message), to: transport.origin,
            client: client, on: shard, upTo: MCPAnswer.maximumSize, within: .seconds(5))
    }

    func close() async {
        guard session != nil, case .handshake? = revision else { return }
        _ = await CollectedExchange.run(
            OutgoingRequest(.delete, transport.path, fields: fields(revision)), to: transport.origin, client: client,
            on: shard, upTo: MCPAnswer.maximumSize, within: .seconds(1))
        session = nil
    }

    private func fields(for request: MCPRequest? = nil, _ revision: MCPRevision?) -> Fields {
        var fields = transport.fields
        fields.add(.contentType, "application/json")
        fields.add(.accept, "application/json, text/event-stream")
        if let session { fields.add(.mcpSessionID, session) }
        // A connection begins without a version.
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
