import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdLanguageModels
import ChatterdSockets

/// A model server, whatever it speaks. Confined to its shard.
public final class UpstreamModel: LanguageModel, @unchecked Sendable {
    /// Where it is.
    public let origin: Origin
    /// The fields of every request to it.
    public let fields: Fields
    /// The connections to it.
    public let client: HTTPClient
    private let shard: Shard
    private let kind: UpstreamDescription.Kind
    private let listing: Duration
    let dialect: any Dialect
    /// The limits of its answers.
    public let limits: GenerationLimits
    /// The server's key. No error repeats it.
    public let key: String?
    let now: @Sendable () -> Int64
    /// The limits on waiting in nanoseconds: they are needed for every read.
    let firstByte: UInt64
    let silence: UInt64

    /// Makes a model server's stand-in on a shard.
    ///
    /// - Parameters:
    ///   - description: of any kind but `echo`.
    ///   - origin: as `UpstreamDescription.origin` gives it.
    ///   - key: sent as a bearer token if there is one.
    ///   - listing: how long it may take to list its models.
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
        dialect = description.kind.dialect(at: origin)
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

    /// Sends the conversation.
    public func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation {
        let generation = UpstreamGeneration(of: self, for: request, consumer: consumer)
        do throws(ModelError) {
            let outgoing = OutgoingRequest(
                .post, dialect.path, fields: fields, body: try dialect.body(of: request))
            generation.start(client.start(outgoing, to: origin, delegate: generation), on: shard)
        } catch {
            generation.fail(error, on: shard)
        }
        return generation
    }

    /// Asks for its models, for as long as it may take; must be called on the shard. Cancelling the task ends it at once.
    public func listModels() async throws(ModelError) -> [ModelDescription] {
        let catalogue = ModelCatalogue(
            kind: kind, origin: origin, fields: fields, client: client, shard: shard, timeLimit: listing)
        do throws(ModelError) {
            return try await catalogue.models()
        } catch {
            throw error.concealing(key)
        }
    }

    /// Whether the server accepts chats at the path of its description; `nil` if its answer does not tell. Spends no tokens. Call
    /// it on the shard.
    public func takesChats() async -> Bool? { await probe.takesChats(place) }

    /// The correction of the description, found by probes of other kinds and paths, for example `its kind must be openai`. `nil` if
    /// no other place accepts chats. Spends no tokens. Call it on the shard.
    public func correction() async -> String? {
        guard let found = await probe.place(otherThan: place) else { return nil }
        var words: [String] = []
        if found.kind != kind {
            words.append("its kind must be \(found.kind.rawValue)")
        }
        // The given URL may suffice, because each kind derives its base path from it.
        if found.origin.basePath != found.kind.basePath(of: origin.basePath) {
            words.append("its url must be \(found.origin)\(found.origin.basePath)")
        }
        return words.joined(separator: " and ")
    }

    private var place: KindProbe.Place { KindProbe.Place(kind: kind, origin: origin) }

    private var probe: KindProbe {
        KindProbe(fields: fields, client: client, shard: shard, timeLimit: listing)
    }
}

extension UpstreamDescription.Kind {
    /// What the server speaks.
    func dialect(at origin: Origin) -> any Dialect {
        switch self {
        case .openai:
            OpenAIDialect(isOpenAI: origin.host.hasSuffix(".openai.com") || origin.host.hasSuffix(".azure.com"))
        case .llamastack: LlamaStackDialect()
        case .ollama, .echo: OllamaDialect()
        }
    }
}
