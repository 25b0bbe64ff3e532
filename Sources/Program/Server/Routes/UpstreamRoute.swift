import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdDialects
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets

/// `/upstreams` and the paths below it: docs/api.md.
struct UpstreamRoute: Sendable {
    let services: ShardedServices
    let registry: UpstreamRegistry
    let configuration: Configuration.Upstreams

    /// Lists all model servers.
    @Sendable func list(_ request: Request, _ responder: Responder, _ principal: Principal) async {
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.array("upstreams") { json in
                    for entry in registry.entries {
                        entry.write(to: &json, defaults: configuration.defaults)
                    }
                }
            }
        }
        responder.respond(json: body)
    }

    /// Shows a model server.
    @Sendable func show(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        responder.respond(json: document(try entry(request)))
    }

    /// Adds a model server.
    @Sendable func add(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        guard let description = try await read(request, named: nil, responder) else { return }
        try await registry.add(
            description.name, description.document(defaults: configuration.defaults),
            by: principal.credential.actor)
        let location = FieldValue(validating: "\(Route.upstreams.rawValue)/\(description.name)")
        responder.respond(
            .created, json: document(try entry(description.name)),
            fields: location.map { [.location: $0] } ?? [:])
    }

    /// Replaces a model server.
    @Sendable func replace(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError)
    {
        let name = try changeable(request)
        guard let description = try await read(request, named: name, responder) else { return }
        try await registry.replace(
            name, description.document(defaults: configuration.defaults), by: principal.credential.actor)
        responder.respond(json: document(try entry(name)))
    }

    /// Removes a model server.
    @Sendable func remove(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        try await registry.remove(try changeable(request), by: principal.credential.actor)
        responder.respondEmptyObject()
    }

    /// Asks a model server for its models and for a token.
    @Sendable func test(_ request: Request, _ responder: Responder, _ principal: Principal) async throws(RelayError) {
        let entry = try entry(request)
        let model = try Self.model(in: try request.smallBody)
        let upstreams = services[request].upstreams.directory.upstreams
        var outcome = UpstreamProbe.Outcome()
        if let upstream = upstreams.first(where: { $0.description.name == entry.name }) {
            outcome = await UpstreamProbe.run(upstream, model: model, on: request.shard)
        } else {
            outcome.problem = entry.problem ?? "It was only just added. Try again."
        }
        responder.respond(json: outcome.document)
    }

    // MARK: - Parts

    private func entry(_ request: Request) throws(RelayError) -> UpstreamEntry { try entry(request.parameter ?? "") }

    private func entry(_ name: String) throws(RelayError) -> UpstreamEntry {
        guard let entry = registry.entry(name) else { throw UpstreamRegistry.notFound(name) }
        return entry
    }

    /// The name of a model server in the table.
    ///
    /// - Throws: `upstreamNotFound`; `invalidRequest` for the built-in model.
    private func changeable(_ request: Request) throws(RelayError) -> String {
        let entry = try entry(request)
        guard entry.row.origin != .builtIn else {
            throw RelayError(.invalidRequest, "Only CHATTERD_ECHO offers the built-in model.")
        }
        return entry.name
    }

    /// Reads a description. If it has problems, answers with all of them and returns `nil`.
    ///
    /// - Parameter name: the name that it must have or omit; `nil` for any name.
    /// - Throws: `invalidRequest` for an empty body and for a form.
    private func read(
        _ request: Request, named name: String?, _ responder: Responder
    ) async throws(RelayError) -> UpstreamDescription? {
        try request.requireJSON(
            like: #"{"name":"\#(name ?? "gpu")","kind":"ollama","url":"http://127.0.0.1:11434"}"#)
        var problems: [String]
        let (body, configuration) = (request.body.bytes, configuration)
        do throws(JSONError) {
            let read: (problems: [String], description: UpstreamDescription?)
            read = try await LongWork.run(on: body.count) { () throws(JSONError) in
                let reader = try UpstreamReader(
                    body, .request(keyDirectory: configuration.keyDirectory), defaults: configuration.defaults,
                    name: name)
                return (reader.problems, reader.description)
            }
            problems = read.problems
            if let description = read.description {
                if description.name == Configuration.Upstreams.echo.name {
                    problems.append("name belongs to the built-in model, which CHATTERD_ECHO offers")
                } else if let name, description.name != name {
                    problems.append("name differs from the path; to rename it, add it and remove the old one")
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

    /// The model that the body of a test names; `nil` for an empty body.
    private static func model(in body: [UInt8]) throws(RelayError) -> String? {
        guard !body.isEmpty else { return nil }
        let object = try? JSONSlice(body)
        let model = object?.last("model", .string)?.string
        guard object?.kind == .object, model.map(ModelName.isValid) ?? true else {
            throw RelayError(
                .invalidRequest, "The body must be empty, or an object such as {\"model\":\"llama3.2\"}.")
        }
        return model
    }

    private func document(_ entry: UpstreamEntry) -> ByteBuffer {
        var body = ByteBuffer()
        body.appendJSON { entry.write(to: &$0, defaults: configuration.defaults) }
        return body
    }
}

extension UpstreamProbe.Outcome {
    /// The answer to a test.
    fileprivate var document: ByteBuffer {
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("ok", problem == nil)
                json.array("models") { json in
                    for model in models {
                        json.string(model.name)
                    }
                }
                json.member("model", model)
                json.member("reply", reply)
                json.member("problem", problem)
            }
        }
        return body
    }
}

extension Responder {
    /// Answers 422 with all problems of a description.
    fileprivate func refuse(problems: [String]) {
        let code = RelayError.Code.invalidRequest
        annotate(Annotation.code, code.rawValue)
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("error", "The description has problems: \(problems.joined(separator: "; ")).")
                json.member("code", code.rawValue)
                json.member("retryable", code.isRetryable)
                json.array("problems") { json in
                    for problem in problems {
                        json.string(problem)
                    }
                }
            }
        }
        respond(code.status, json: body)
    }
}
