import ChatterClient
import ChatterdBasics
import ChatterdHTTP

/// A model server behind a URL.
struct ModelServer: Sendable {
    /// Model servers are silent while they load a model and read a long prompt.
    private static let silence = Duration.seconds(600)
    /// The limits of bodies that are not streams, in bytes.
    private static let errorLimit = 64 << 10
    private static let listLimit = 16 << 20

    private let transport: Transport
    private let fields: Fields

    /// - Parameters:
    ///   - url: scheme, host and a prefix of the path.
    ///   - endings: endings of the path that are removed, so that a URL may be given with or without them.
    /// - Throws: `rejected` if something cannot be sent.
    init(
        url: String, removing endings: [String], key: String?, headers: [String: String]
    ) throws(LLMError) {
        var url = url
        while url.hasSuffix("/") { url.removeLast() }
        if let ending = endings.first(where: { url.hasSuffix($0) }) {
            url.removeLast(ending.count)
        }
        do throws(ChatterError) {
            transport = try .system(to: url, silence: Self.silence)
        } catch {
            throw LLMError(error)
        }
        var fields = Fields()
        if let key, !key.isEmpty {
            guard let value = FieldValue(validating: "Bearer \(key)") else {
                throw .rejected("The key has characters that no key has.")
            }
            fields.add(.authorization, value)
        }
        for (name, text) in headers.sorted(by: { $0.key < $1.key }) {
            guard let name = FieldName(name), let value = FieldValue(validating: text) else {
                throw .rejected("The header \(name) cannot be sent.")
            }
            fields.add(name, value)
        }
        self.fields = fields
    }

    /// Sends a request. Returns the body of a successful response.
    func body(of request: ClientRequest) async throws(LLMError) -> ResponseBody {
        var request = request
        for field in fields {
            if let value = FieldValue(validating: field.value) {
                request.fields.add(field.name, value)
            }
        }
        let response: ClientResponse
        let body: [UInt8]
        do throws(ChatterError) {
            response = try await transport.send(request)
            guard !response.head.status.isSuccess else { return response.body }
            body = try await response.body.collect(upTo: Self.errorLimit)
        } catch {
            throw LLMError(error)
        }
        throw LLMError(
            status: response.head.status.code, retryAfter: response.head.fields[.retryAfter].flatMap { Int($0) },
            body: body)
    }

    /// The JSON of a successful response.
    func json(at path: String) async throws(LLMError) -> StructuredContent {
        let body = try await body(of: ClientRequest(.get, path))
        do throws(ChatterError) {
            let bytes = try await body.collect(upTo: Self.listLimit)
            return (try? StructuredContent(json: bytes)) ?? .null
        } catch {
            throw LLMError(error)
        }
    }

    /// The events of an answer. The request is made when the first one is awaited.
    func events<Format: WireFormat>(
        _ format: Format, model: String, _ request: GenerationRequest
    ) -> AsyncThrowingStream<GenerationEvent, any Error> {
        let reader = AnswerReader(
            self, format.httpRequest(for: request, model: model),
            format.makeDecoder(callPrefix: "call_\(request.transcript.count)_"))
        return AsyncThrowingStream { try await reader.next() }
    }

    /// Whether the server answers, and has the model.
    func availability<Format: WireFormat>(_ format: Format, model: String) async -> Availability {
        do throws(LLMError) {
            let list = try await json(at: format.listPath)
            return format.lists(model, in: list) ? .available : .unavailable(.modelNotFound)
        } catch {
            switch error {
            case .unavailable(let reason): return .unavailable(reason)
            case .unauthorized: return .unavailable(.apiKeyMissing)
            default: return .unavailable(.unreachable(error.message))
            }
        }
    }
}
