import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTracing

/// A model server of any dialect. Confined to its shard.
public final class UpstreamModel: LanguageModel {
    /// The origin of its base URL.
    public let origin: Origin
    /// The header fields of every request to it.
    public let fields: Fields
    /// The connections to it.
    public let client: HTTPClient
    private let shard: Shard
    private let kind: UpstreamDescription.Kind
    private let listing: Duration
    let dialect: any ServerDialect
    /// The limits of its answers.
    public let limits: GenerationLimits
    /// The server's key. Errors never contain it.
    public let key: String?
    let now: @Sendable () -> Int64
    /// Timeouts in nanoseconds, computed once because every read needs them.
    let firstByte: UInt64
    let silence: UInt64

    /// Creates the client of a model server on a shard.
    ///
    /// - Parameters:
    ///   - description: of any kind but `echo`.
    ///   - origin: the result of `UpstreamDescription.origin`.
    ///   - key: sent as a bearer token; `nil` sends none.
    ///   - listing: the timeout of a list of its models.
    ///   - now: the wall clock in nanoseconds since 1970.
    public init(
        _ description: UpstreamDescription, origin: Origin, key: String?, client: HTTPClient, shard: Shard,
        listing: Duration = .seconds(2), now: @escaping @Sendable () -> Int64
    ) {
        self.client = client
        self.shard = shard
        self.origin = origin
        self.now = now
        self.key = key
        self.listing = listing
        limits = description.limits
        firstByte = limits.firstByte.nanoseconds
        silence = limits.silence.nanoseconds
        kind = description.kind
        dialect = description.kind.dialect(at: origin.host)
        var fields: Fields = [.contentType: "application/json"]
        for field in description.fields {
            if let name = FieldName(field.name), let value = FieldValue(validating: field.value) {
                fields.set(name, value)
            }
        }
        if let key, let value = FieldValue(validating: "Bearer \(key)") {
            fields.set(.authorization, value)
        }
        self.fields = fields
    }

    /// Sends a request.
    public func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation {
        let generation = UpstreamGeneration(of: self, for: request, consumer: consumer)
        let size = request.beginning.count + (dialect.translatesMessages ? request.messages.byteCount : 0)
        guard size > LongWork.size else {
            do throws(ModelError) {
                send(generation, try dialect.body(of: request), request.trace)
            } catch {
                generation.fail(error, on: shard)
            }
            return generation
        }
        let isCancelled = Lock(false)
        generation.isCancelled = isCancelled
        let confined = Confined((model: self, generation: generation), to: shard)
        Task(executorPreference: shard) { [dialect, shard] in
            do throws(ModelError) {
                let body = try await LongWork.run(on: size) { () throws(ModelError) in
                    isCancelled.withLock { $0 } ? OutgoingBody() : try dialect.body(of: request)
                }
                let (model, generation) = confined.value
                model.send(generation, body, request.trace)
            } catch {
                confined.value.generation.fail(error, on: shard)
            }
        }
        return generation
    }

    private func send(_ generation: UpstreamGeneration, _ body: OutgoingBody, _ trace: TraceContext?) {
        // A consumer may have cancelled while the body was written.
        guard !generation.isOver else { return }
        var fields = fields
        if let trace { fields.set(trace) }
        let outgoing = OutgoingRequest(.post, dialect.path, fields: fields, body: body)
        generation.start(client.start(outgoing, to: origin, delegate: generation), on: shard)
    }

    /// Asks for its models, within the timeout of `init`. Call it on the shard. Cancellation of the task ends it at once.
    ///
    /// - Throws: the error of the server or the exchange, without the key.
    public func listModels() async throws(ModelError) -> [ModelDescription] {
        let catalogue = ModelCatalogue(
            kind: kind, origin: origin, fields: fields, client: client, shard: shard, timeLimit: listing)
        do throws(ModelError) {
            return try await catalogue.models()
        } catch {
            throw error.concealing(key)
        }
    }

    /// Whether the server accepts chats at the path of its description; `nil` if its answer does not show it. Spends no tokens. Call
    /// it on the shard.
    public func acceptsChats() async -> Bool? { await probe.acceptsChats(endpoint) }

    /// The correction of the description, found by probes of other kinds and paths, for example `its kind must be openai`. `nil` if
    /// no other endpoint accepts chats. Spends no tokens. Call it on the shard.
    public func correction() async -> String? {
        guard let found = await probe.endpoint(otherThan: endpoint) else { return nil }
        var words: [String] = []
        if found.kind != kind {
            words.append("its kind must be \(found.kind.rawValue)")
        }
        // The given URL may suffice, because each kind derives its base path from it.
        if found.origin.basePath != found.kind.dialect(at: origin.host).basePath(of: origin.basePath) {
            words.append("its url must be \(found.origin)\(found.origin.basePath)")
        }
        return words.joined(separator: " and ")
    }

    private var endpoint: KindProbe.Endpoint { KindProbe.Endpoint(kind: kind, origin: origin) }

    private var probe: KindProbe {
        KindProbe(fields: fields, client: client, shard: shard, timeLimit: listing)
    }
}
