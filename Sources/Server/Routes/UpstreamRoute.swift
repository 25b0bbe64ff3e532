import ChatterdBasics
import ChatterdConfiguration
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay

/// `/upstreams` and what is below it: docs/api.md. Not routed without an admin token.
struct UpstreamRoute: Sendable {
    let services: [ShardServices]
    let registry: UpstreamRegistry
    let configuration: Configuration.Upstreams

    /// Lists all.
    @Sendable func list(_ request: Request, _ responder: Responder) async {
        await serve(request, responder) { () throws(RelayError) in
            var body = ByteBuffer()
            body.append("{\"upstreams\":[")
            for (index, entry) in registry.entries.enumerated() {
                if index > 0 {
                    body.append(",")
                }
                entry.append(to: &body)
            }
            body.append("]}")
            responder.respond(json: body)
        }
    }

    /// Shows one.
    @Sendable func show(_ request: Request, _ responder: Responder) async {
        await serve(request, responder) { () throws(RelayError) in
            responder.respond(json: Self.document(try entry(request)))
        }
    }

    /// Adds one.
    @Sendable func add(_ request: Request, _ responder: Responder) async {
        await serve(request, responder) { () async throws(RelayError) in
            guard let description = try read(request, named: nil, responder) else { return }
            try await registry.add(description.name, description.document(defaults: configuration.defaults))
            let location = FieldValue(validating: "\(Route.upstreams.rawValue)/\(description.name)")
            responder.respond(
                .created, json: Self.document(try entry(description.name)),
                fields: location.map { [.location: $0] } ?? [:])
        }
    }

    /// Replaces one.
    @Sendable func replace(_ request: Request, _ responder: Responder) async {
        await serve(request, responder) { () async throws(RelayError) in
            let name = try changeable(request)
            guard let description = try read(request, named: name, responder) else { return }
            try await registry.replace(name, description.document(defaults: configuration.defaults))
            responder.respond(json: Self.document(try entry(name)))
        }
    }

    /// Removes one.
    @Sendable func remove(_ request: Request, _ responder: Responder) async {
        await serve(request, responder) { () async throws(RelayError) in
            try await registry.remove(try changeable(request))
            responder.respondEmptyObject()
        }
    }

    /// Asks one for its models and a token.
    @Sendable func test(_ request: Request, _ responder: Responder) async {
        await serve(request, responder) { () async throws(RelayError) in
            let entry = try entry(request)
            let model = try Self.model(in: request.body.bytes)
            let upstreams = services[request].upstreams.directory.upstreams
            var outcome = UpstreamTrial.Outcome()
            if let upstream = upstreams.first(where: { $0.description.name == entry.name }) {
                outcome = await UpstreamTrial.run(upstream, model: model, on: request.shard)
            } else {
                outcome.problem = entry.problem ?? "It was only just added. Try again."
            }
            responder.respond(json: outcome.document)
        }
    }

    // MARK: - Parts

    private func serve(
        _ request: Request, _ responder: Responder, _ body: () async throws(RelayError) -> Void
    ) async {
        do throws(RelayError) {
            try await body()
        } catch {
            responder.refuse(error)
        }
    }

    private func entry(_ request: Request) throws(RelayError) -> UpstreamEntry { try entry(request.parameter ?? "") }

    private func entry(_ name: String) throws(RelayError) -> UpstreamEntry {
        guard let entry = registry.entry(name) else { throw UpstreamRegistry.notFound(name) }
        return entry
    }

    /// The name of one that stands in the table.
    private func changeable(_ request: Request) throws(RelayError) -> String {
        let entry = try entry(request)
        guard entry.origin != .builtIn else {
            throw RelayError(.invalidRequest, "The built-in model is offered by CHATTERD_ECHO, and by nothing else.")
        }
        return entry.name
    }

    /// Reads a description; if it is none, says all that is wrong with it.
    ///
    /// - Parameter name: the name that it must have, and may leave out.
    /// - Throws: `invalidRequest` for a body that is empty or a form.
    private func read(
        _ request: Request, named name: String?, _ responder: Responder
    ) throws(RelayError) -> UpstreamDescription? {
        try request.requireJSON(
            like: #"{"name":"\#(name ?? "gpu")","kind":"ollama","url":"http://127.0.0.1:11434"}"#)
        var problems: [String]
        do throws(JSONError) {
            let reader = try UpstreamReader(
                request.body.bytes, .request(keyDirectory: configuration.keyDirectory),
                defaults: configuration.defaults,
                name: name)
            problems = reader.problems
            if let description = reader.description {
                if description.name == Configuration.Upstreams.echo.name {
                    problems.append("name is that of the built-in model, which is offered by CHATTERD_ECHO")
                } else if let name, description.name != name {
                    problems.append("name is not that of the path; to rename it, add it and remove the old one")
                } else {
                    return description
                }
            }
        } catch {
            problems = ["the body is not a JSON object: \(error)"]
        }
        responder.refuse(problems: problems)
        return nil
    }

    /// The model that the body of a trial names, if there is a body.
    private static func model(in body: [UInt8]) throws(RelayError) -> String? {
        guard !body.isEmpty else { return nil }
        do throws(JSONError) {
            try JSONReader.validate(body.span)
            var model: String?
            var reader = JSONReader(body.span)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let isModel = reader.matches(key, "model")
                guard let text = try reader.stringOrSkip(), isModel else { continue }
                model = String(decodingJSON: body.span.extracting(text.range))
            }
            return model
        } catch {
            throw RelayError(
                .invalidRequest, "The body must be nothing, or an object such as {\"model\":\"llama3.2\"}.")
        }
    }

    private static func document(_ entry: UpstreamEntry) -> ByteBuffer {
        var body = ByteBuffer()
        entry.append(to: &body)
        return body
    }
}

extension UpstreamTrial.Outcome {
    /// The answer to a trial.
    fileprivate var document: ByteBuffer {
        var body = ByteBuffer()
        body.append(problem == nil ? "{\"ok\":true,\"models\":[" : "{\"ok\":false,\"models\":[")
        for (index, model) in models.enumerated() {
            if index > 0 {
                body.append(",")
            }
            body.append(jsonString: model.name)
        }
        body.append("]")
        for (name, text) in [("model", model), ("reply", reply), ("problem", problem)] {
            guard let text else { continue }
            body.append(",")
            body.append(jsonString: name)
            body.append(":")
            body.append(jsonString: text)
        }
        body.append("}")
        return body
    }
}

extension Responder {
    /// Answers 422 with all that is wrong with a description.
    fileprivate func refuse(problems: [String]) {
        let code = RelayError.Code.invalidRequest
        annotate(Annotation.code, code.rawValue)
        var body = ByteBuffer()
        body.append("{\"error\":")
        body.append(jsonString: "The description has problems: \(problems.joined(separator: "; ")).")
        body.append(",\"code\":")
        body.append(jsonString: code.rawValue)
        body.append(",\"problems\":[")
        for (index, problem) in problems.enumerated() {
            if index > 0 {
                body.append(",")
            }
            body.append(jsonString: problem)
        }
        body.append("]}")
        respond(code.status, json: body)
    }
}
