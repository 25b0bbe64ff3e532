import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdSockets

/// Asks a model server for its models. Confined to its shard.
///
/// Models that cannot chat are marked if the server marks them. The context length of a model is the one that the server gives
/// it; the one that it was trained for counts only if the server reports no other.
struct ModelCatalogue {
    let kind: UpstreamDescription.Kind
    let origin: Origin
    /// The fields of every request.
    let fields: Fields
    let client: HTTPClient
    let shard: Shard
    /// The timeout of the whole listing.
    var timeLimit = Duration.seconds(2)

    /// Returns the models. Call it on the shard. Cancellation of the task ends it at once.
    ///
    /// - Throws: `firstByteTimeout` after the time limit, `malformed` for a list of another kind, or the error of the exchange.
    func models() async throws(ModelError) -> [ModelDescription] {
        switch kind {
        case .ollama: try await ollamaModels()
        case .openai: try await openAIModels()
        case .llamastack: try await list("/v1/models").map(\.description)
        case .echo: []
        }
    }

    private func ollamaModels() async throws(ModelError) -> [ModelDescription] {
        let installed = try await list("/api/tags")
        // The context length depends on how the model was loaded. Not every server with Ollama's API reports it.
        guard let loaded = try? await list("/api/ps", within: timeLimit / 4) else {
            return installed.map(\.description)
        }
        let served = Dictionary(loaded.map { ($0.name, $0.served) }) { first, _ in first }
        return installed.map {
            ModelDescription(
                name: $0.name, contextLength: served[$0.name] ?? nil, installed: $0.installed, canChat: $0.canChat)
        }
    }

    private func openAIModels() async throws(ModelError) -> [ModelDescription] {
        let listed = try await list("/models")
        // llama.cpp reports the context length of each answer under another path.
        guard listed.count == 1, listed[0].served == nil, listed[0].trained != nil, origin.basePath.hasSuffix("/v1"),
            case .success(let body) = await get(
                "/props", of: origin.at(String(origin.basePath.dropLast(3))), within: timeLimit / 4),
            let served = try? ModelListing.contextLength(inProperties: body.bytes)
        else { return listed.map(\.description) }
        return [ModelDescription(name: listed[0].name, contextLength: served)]
    }

    private func list(_ path: String, within limit: Duration? = nil) async throws(ModelError) -> [ModelListing] {
        let body = try await get(path, of: origin, within: limit ?? timeLimit).get()
        do throws(JSONError) {
            return try ModelListing.all(in: body.bytes, of: kind)
        } catch {
            throw .malformed("its list of models is not of the kind \"\(kind.rawValue)\"", detail: "\(path): \(error)")
        }
    }

    private func get(_ path: String, of origin: Origin, within limit: Duration) async -> BufferedExchange.Outcome {
        await BufferedExchange.get(path, of: origin, fields: fields, client: client, on: shard, within: limit)
    }
}
