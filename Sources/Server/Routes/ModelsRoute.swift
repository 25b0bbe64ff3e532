import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// `GET /models`: docs/api.md.
struct ModelsRoute: Sendable {
    let services: [ShardServices]
    let registry: UpstreamRegistry

    /// Lists the models that can be asked for now, and how their servers are. No addresses are shown.
    @Sendable func list(_ request: Request, _ responder: Responder) async {
        let upstreams = services[request].upstreams
        let listings = await upstreams.survey.listings(of: upstreams.directory)
        var body = ByteBuffer()
        body.append("{\"models\":[")
        append(Self.models(listings, in: upstreams.directory), to: &body)
        body.append("],\"upstreams\":[")
        for (index, entry) in registry.entries.enumerated() {
            if index > 0 {
                body.append(",")
            }
            append(entry, listings.first { $0.upstream.description.name == entry.name }, request, to: &body)
        }
        body.append("]}")
        responder.respond(json: body)
    }

    /// A name that can be asked for.
    struct Model: Equatable {
        let name: String
        /// The model servers that are asked, the first one first.
        let upstreams: [String]
        let context: Int?
    }

    /// The names that lead to a model that its server has, each once.
    static func models(_ listings: [ModelSurvey.Listing], in directory: UpstreamDirectory) -> [Model] {
        let reachable = listings.compactMap { Reachable($0) }
        var names: [String] = []
        var known: Set<String> = []
        for server in reachable {
            let description = server.upstream.description
            let configured = UpstreamNames(description)
            let own = (configured.takesAnyName ? server.models.map(\.name) : []) + configured.listed
            names += own.filter { known.insert($0).inserted }
        }
        return names.compactMap { name in
            let serving = directory.choices(for: name).compactMap { choice -> (name: String, context: Int?)? in
                let description = choice.upstream.description
                guard let found = reachable.first(where: { $0.upstream === choice.upstream }) else { return nil }
                // One that does not say what it has is taken at its operator's word.
                guard !found.models.isEmpty else { return (description.name, description.contextLength) }
                guard let model = found.model(choice.model) else { return nil }
                return (description.name, description.contextLength ?? model.contextLength)
            }
            guard !serving.isEmpty else { return nil }
            return Model(name: name, upstreams: serving.map(\.name), context: serving.compactMap(\.context).first)
        }
    }

    /// A server that has said what it has.
    private struct Reachable {
        let upstream: Upstream
        let models: [ModelDescription]
        /// A server may list very many.
        private let byName: [String: ModelDescription]

        init?(_ listing: ModelSurvey.Listing) {
            guard let models = try? listing.models.get() else { return nil }
            upstream = listing.upstream
            self.models = models
            byName = Dictionary(models.map { ($0.name, $0) }) { first, _ in first }
        }

        /// Ollama takes a name without a tag as the one tagged latest; the built-in model takes any.
        func model(_ name: String) -> ModelDescription? {
            switch upstream.description.kind {
            case .echo: models.first
            case .ollama: byName[name] ?? byName["\(name):latest"]
            case .openai, .llamastack: byName[name]
            }
        }
    }

    private func append(_ models: [Model], to body: inout ByteBuffer) {
        for (index, model) in models.enumerated() {
            body.append(index == 0 ? "{\"name\":" : ",{\"name\":")
            body.append(jsonString: model.name)
            body.append(",\"upstream\":")
            body.append(jsonString: model.upstreams.first ?? "")
            for (index, name) in model.upstreams.enumerated() {
                body.append(index == 0 ? ",\"upstreams\":[" : ",")
                body.append(jsonString: name)
            }
            body.append("]")
            if let context = model.context {
                body.append(",\"context\":")
                body.append(decimal: context)
            }
            body.append("}")
        }
    }

    private func append(
        _ entry: UpstreamEntry, _ listing: ModelSurvey.Listing?, _ request: Request, to body: inout ByteBuffer
    ) {
        body.append("{\"name\":")
        body.append(jsonString: entry.name)
        if let kind = entry.kind {
            body.append(",\"kind\":")
            body.append(jsonString: kind.rawValue)
        }
        let models = listing.flatMap { try? $0.models.get() }
        // A new server has no listing yet: its reachability is unknown.
        if listing != nil || entry.problem != nil {
            body.append(models == nil ? ",\"reachable\":false" : ",\"reachable\":true")
        }
        if let listing {
            body.append(",\"health\":")
            body.append(jsonString: listing.upstream.health.state(at: request.shard.now.nanoseconds).rawValue)
        }
        if case .failure(let error)? = listing?.models {
            body.append(",\"problem\":")
            body.append(jsonString: error.message)
        } else if let problem = entry.publicProblem {
            body.append(",\"problem\":")
            body.append(jsonString: problem)
        }
        body.append(",\"models\":")
        body.append(decimal: models?.count ?? 0)
        body.append("}")
    }
}
