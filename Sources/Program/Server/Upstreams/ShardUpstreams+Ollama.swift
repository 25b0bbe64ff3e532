import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdDialects
import ChatterdModelServers
import ChatterdRelay

/// The servers of the kind `ollama`, for requests that only they understand.
extension ShardUpstreams {
    /// The server for a change of a model: the one with the name `server`; otherwise the first one that lists the model; otherwise the first
    /// one that is configured for it; otherwise the first one of all, if the model need not exist.
    ///
    /// - Throws: `upstreamNotFound` for an unknown name of a server; `modelNotFound`; `invalidRequest` if a model that several servers
    ///   list is to be deleted.
    func target(
        for change: ModelChange, of model: String, on server: String?
    ) async throws(RelayError) -> (target: ModelTarget, model: UpstreamModel) {
        let all = directory.upstreams.filter { $0.description.kind == .ollama }
        if let server {
            guard let upstream = all.first(where: { $0.description.name == server }) else {
                throw RelayError(
                    .upstreamNotFound,
                    "There is no model server of the kind ollama with the name \(SettingText.excerpt(server)).")
            }
            return try Self.resolved(ModelTarget(upstream, model: upstream.description.aliases[model] ?? model))
        }
        let listing = await targetsListing(model)
        let configured = directory.targets(for: model).filter { $0.upstream.description.kind == .ollama }
        guard change != .delete || listing.count < 2 else {
            let names = listing.map(\.upstream.description.name).joined(separator: ", ")
            throw RelayError(
                .invalidRequest, "Several model servers have this model: \(names). Name one with ?upstream=NAME.")
        }
        if let target = listing.first ?? configured.first { return try Self.resolved(target) }
        // A server with configured models refuses requests for a new model.
        let first = all.first { UpstreamNames($0.description).takesAnyName } ?? all.first
        guard !change.needsModel, let first else {
            throw RelayError(.model(.modelNotFound), "No model server of the kind ollama has this model.")
        }
        return try Self.resolved(ModelTarget(first, model: model))
    }

    /// The server that describes a model: the first one that lists it; `nil` if none of the kind `ollama` does.
    func describer(of model: String) async -> (target: ModelTarget, model: UpstreamModel)? {
        await targetsListing(model).first.flatMap { try? Self.resolved($0) }
    }

    /// The servers of the kind `ollama` that are configured for a model and list it.
    private func targetsListing(_ model: String) async -> [ModelTarget] {
        let listings = await modelLists.listings(of: directory)
        return directory.targets(for: model).filter { target in
            guard target.upstream.description.kind == .ollama,
                let names = listings.first(where: { $0.upstream === target.upstream })?.names
            else { return false }
            // Ollama adds the tag `latest` to a name without one.
            return names.contains(target.model) || names.contains(target.model + ":latest")
        }
    }

    private static func resolved(
        _ target: ModelTarget
    ) throws(RelayError) -> (target: ModelTarget, model: UpstreamModel) {
        guard let model = target.upstream.model as? UpstreamModel else {
            throw RelayError(.internal, "The model server cannot be asked.")
        }
        return (target, model)
    }
}
