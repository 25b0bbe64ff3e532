import ChatterdBasics
import ChatterdChat
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets

/// `GET /models`: docs/api.md.
struct ModelsRoute: Sendable {
    let services: ShardedServices
    let registry: UpstreamRegistry

    /// Lists the models that can be asked for now, and the state of their servers. No addresses are shown.
    @Sendable func list(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        let upstreams = services[request].upstreams
        let listings = await upstreams.modelLists.listings(of: upstreams.directory)
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.array("models") { json in
                    for model in Self.models(listings, in: upstreams.directory) {
                        Self.write(model, to: &json)
                    }
                }
                json.array("upstreams") { json in
                    for entry in registry.entries {
                        let listing = listings.first { $0.upstream.description.name == entry.name }
                        Self.write(entry, listing, on: request.shard, to: &json)
                    }
                }
            }
        }
        responder.respond(json: body)
    }

    /// A model that clients can ask for.
    struct Model: Equatable {
        let name: String
        /// The model servers with the model, in the order in which they are asked.
        let upstreams: [String]
        let context: Int?
        /// What an Ollama says of it; `nil` if none has it.
        var installed: InstalledModel?
    }

    /// The names under which a server has a model, each once.
    static func models(_ listings: [ModelListCache.Listing], in directory: UpstreamDirectory) -> [Model] {
        let reachable = listings.compactMap { Reachable($0) }
        var names: [String] = []
        var known: Set<String> = []
        for server in reachable {
            let description = server.upstream.description
            let configured = UpstreamNames(description)
            let own = (configured.takesAnyName ? server.models.map(\.name) : []) + configured.listed
            names += own.filter { known.insert($0).inserted }
        }
        return names.compactMap { model($0, at: reachable, in: directory) }
    }

    /// The model with a name that may begin with that of its server.
    static func model(
        _ name: String, _ listings: [ModelListCache.Listing], in directory: UpstreamDirectory
    ) -> Model? {
        model(name, at: listings.compactMap { Reachable($0) }, in: directory)
    }

    private static func model(_ name: String, at reachable: [Reachable], in directory: UpstreamDirectory) -> Model? {
        let serving = directory.targets(for: name).compactMap {
            target -> (name: String, context: Int?, installed: InstalledModel?)? in
            let description = target.upstream.description
            guard let found = reachable.first(where: { $0.upstream === target.upstream }) else { return nil }
            // A server that lists no models is assumed to have the configured ones.
            guard !found.models.isEmpty else { return (description.name, description.contextLength, nil) }
            guard let model = found.model(target.model) else { return nil }
            return (description.name, description.contextLength ?? model.contextLength, model.installed)
        }
        guard !serving.isEmpty else { return nil }
        return Model(
            name: name, upstreams: serving.map(\.name), context: serving.compactMap(\.context).first,
            installed: serving.compactMap(\.installed).first)
    }

    /// A server that has listed its models.
    private struct Reachable {
        let upstream: Upstream
        let models: [ModelDescription]
        /// The models by name, because a server may list thousands.
        private let byName: [String: ModelDescription]

        init?(_ listing: ModelListCache.Listing) {
            guard let models = try? listing.models.get() else { return nil }
            upstream = listing.upstream
            self.models = models
            byName = Dictionary(models.map { ($0.name, $0) }) { first, _ in first }
        }

        /// The model with that name. Ollama adds the tag `latest` to a name without a tag; the built-in model accepts any name.
        func model(_ name: String) -> ModelDescription? {
            switch upstream.description.kind {
            case .echo: models.first
            case .ollama: byName[name] ?? byName["\(name):latest"]
            case .openai, .llamastack: byName[name]
            }
        }
    }

    private static func write(_ model: Model, to json: inout JSONWriter) {
        json.object { json in
            json.member("name", model.name)
            json.member("upstream", model.upstreams.first ?? "")
            json.array("upstreams") { json in
                for name in model.upstreams {
                    json.string(name)
                }
            }
            json.member("context", model.context)
        }
    }

    private static func write(
        _ entry: UpstreamEntry, _ listing: ModelListCache.Listing?, on shard: Shard, to json: inout JSONWriter
    ) {
        let models = try? listing?.models.get()
        json.object { json in
            json.member("name", entry.name)
            json.member("kind", entry.description?.kind.rawValue)
            // A new server has no listing yet: its reachability is unknown.
            if listing != nil || entry.problem != nil {
                json.member("reachable", models != nil)
            }
            json.member("health", listing?.upstream.health.state(at: shard.now).rawValue)
            if case .failure(let error)? = listing?.models {
                json.member("problem", error.message)
            } else {
                json.member("problem", entry.publicProblem)
            }
            json.member("models", models?.count ?? 0)
        }
    }
}
