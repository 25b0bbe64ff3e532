import ChatterdBasics
import ChatterdChat
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdDialects
import ChatterdHTTPClient
import ChatterdModelServers
import ChatterdRelay
import ChatterdServer
import ChatterdSockets

extension Doctor {
    /// Checks that a model server answers, and has the models that it is asked for.
    ///
    /// - Parameter asksModels: whether a model answers a short chat too.
    static func upstream(_ upstream: UpstreamDescription, keys: UpstreamKeys, asksModels: Bool) async -> [Check] {
        let subject = "model server \(upstream.name)"
        guard upstream.kind != .echo else {
            return [.fine(.modelServer, of: subject, "built in")]
        }
        let prepared: ResolvedUpstream
        do throws(UpstreamKeys.Problem) {
            prepared = try ResolvedUpstream(upstream, keys: keys)
        } catch {
            return [
                .wrong(
                    .modelServer, of: subject, error.message,
                    advice: "set it right, or take it out of CHATTERD_UPSTREAMS")
            ]
        }
        // The configuration has accepted this URL.
        guard let given = try? UpstreamURL(parsing: upstream.url), let origin = prepared.origin else { return [] }
        let url = UpstreamURL(isSecure: given.isSecure, address: given.address, path: origin.basePath)
        let checks = await survey(subject, url, upstream, prepared)
        guard asksModels, !checks.contains(where: { $0.severity == .failure }) else { return checks }
        return checks + (await chats(subject, prepared))
    }

    private static func survey(
        _ subject: String, _ url: UpstreamURL, _ upstream: UpstreamDescription, _ prepared: ResolvedUpstream
    ) async -> [Check] {
        // An Ollama without TLS is asked for its version too.
        guard upstream.kind == .ollama, !url.isSecure else { return [await survey(subject, url, prepared)] }
        switch ollama(subject, url, upstream, key: prepared.key) {
        case .isOllama(let checks):
            let endpoint = await endpoint(of: prepared)
            return checks + (endpoint.isRight && endpoint.answersChats ? [] : [noChats(subject, url, endpoint)])
        case .isNot(let finding):
            let advice = await endpoint(of: prepared, isListed: false).correction ?? "check host, port and path"
            return [.wrong(.modelServer, of: subject, finding, advice: advice)]
        case .cannotTell(let check):
            return [check]
        }
    }

    /// The result of the check of the chat endpoint that the description names.
    private struct Endpoint: Sendable {
        var models: Result<[ModelDescription], ModelError>?
        var isRight = true
        /// Whether a chat was answered in any way.
        var answersChats = true
        var correction: String?

        /// Whether a server may answer at another path. `false` if no server answers at the address.
        var mayBeElsewhere: Bool {
            guard case .failure(let error)? = models else { return true }
            return error.mayBeMisdescribed
        }
    }

    /// Tests the server as `serve` uses it: name, address, TLS, key, paths.
    ///
    /// - Parameter isListed: whether the server has listed its models already; `nil` to ask it here.
    private static func endpoint(of prepared: ResolvedUpstream, isListed: Bool? = true) async -> Endpoint {
        let shard: Shard
        do throws(SocketError) {
            shard = try Shard(index: 0)
        } catch {
            let error = ModelError(
                .unavailable, "It cannot be asked: \(error). Raise the limit on open files.", detail: "\(error)")
            return Endpoint(models: .failure(error))
        }
        let factory = UpstreamFactory(shard: shard, idleConnections: 0, listing: CommandProbe.limit)
        // The task creates, uses and releases the model server on the shard.
        return await Task(executorPreference: shard) {
            let upstream = factory.make(prepared)
            var endpoint = Endpoint()
            if isListed == nil {
                endpoint.models = await ModelListCache.listing(of: upstream).models
            }
            let lists = isListed ?? ((try? endpoint.models?.get()) != nil)
            guard let model = upstream.model as? UpstreamModel else { return endpoint }
            if lists {
                let acceptsChats = await model.acceptsChats()
                endpoint.isRight = acceptsChats != false
                endpoint.answersChats = acceptsChats != nil
            }
            if !endpoint.isRight || !lists && endpoint.mayBeElsewhere {
                endpoint.correction = await model.correction()
            }
            return endpoint
        }.value
    }

    private static func noChats(_ subject: String, _ url: UpstreamURL, _ endpoint: Endpoint) -> Check {
        guard endpoint.answersChats else {
            return .wrong(
                .modelServer, of: subject,
                "\(url) lists its models, but does not answer a chat within \(CommandProbe.limit)",
                advice: "see its own log: is it loading a model, or overloaded?")
        }
        return .wrong(
            .modelServer, of: subject, "\(url) lists its models, but accepts no chats at the path of its kind",
            advice: endpoint.correction ?? "check its kind and its path")
    }

    private static func survey(_ subject: String, _ url: UpstreamURL, _ prepared: ResolvedUpstream) async -> Check {
        let endpoint = await endpoint(of: prepared, isListed: nil)
        switch endpoint.models ?? .success([]) {
        case .failure(let error):
            return .wrong(
                .modelServer, of: subject, "\(url) does not list its models: \(error.message) (\(error.description))",
                advice: endpoint.correction ?? advice(for: error))
        case .success where !endpoint.isRight || !endpoint.answersChats:
            return noChats(subject, url, endpoint)
        case .success(let models):
            let missing = prepared.description.models.filter { name in !models.contains { $0.name == name } }
            guard missing.isEmpty || models.isEmpty else {
                return .wrong(
                    .modelServer, of: subject, "it lacks \(missing.joined(separator: ", "))",
                    advice: "correct its models in CHATTERD_UPSTREAMS, or have it serve them")
            }
            return .fine(.modelServer, of: subject, "\(url) has \(shown(models.map(\.name)))")
        }
    }

    private static func advice(for error: ModelError) -> String {
        switch error.code {
        case .unauthorized: "correct its key in CHATTERD_UPSTREAMS (key, key_env or key_file)"
        case .firstByteTimeout, .silenceTimeout, .totalTimeout: "see its own log: does it hang, or is it overloaded?"
        case .unavailable where error.detail.contains("certificate"):
            "replace its certificate, or name its authorities in ca_file"
        default: "check host, port, path and key"
        }
    }

    /// The first of some models.
    private static func shown(_ models: [String]) -> String {
        guard !models.isEmpty else { return "no models" }
        let first = models.prefix(8).map(SettingText.excerpt).joined(separator: ", ")
        return "models: \(first)\(models.count > 8 ? " and \(models.count - 8) more" : "")"
    }

    /// The result of a probe for Ollama.
    private enum OllamaFinding {
        case isOllama([Check])
        /// Another kind of server answers.
        case isNot(String)
        case cannotTell(Check)
    }

    private static func ollama(
        _ subject: String, _ url: UpstreamURL, _ upstream: UpstreamDescription, key: ConfigurationSecret?
    ) -> OllamaFinding {
        switch CommandProbe.get(url.path + "/api/version", from: url.address, key: key) {
        case .failure(let failure):
            return .cannotTell(unreachable(subject, url, failure))
        case .success(let answer) where answer.status == 401 || answer.status == 403:
            return .cannotTell(
                .wrong(
                    .modelServer, of: subject, "\(url) refuses us with status \(answer.status)",
                    advice: "give its key in CHATTERD_UPSTREAMS"))
        case .success(let answer):
            guard answer.status == 200, let version = JSONStrings.member("version", of: answer.body) else {
                return .isNot("\(url) does not answer as an Ollama does (status \(answer.status))")
            }
            return .isOllama([
                .fine(.modelServer, of: subject, "\(url) is Ollama \(SettingText.excerpt(version))"),
                models(subject, url, upstream, key: key),
            ])
        }
    }

    private static func models(
        _ subject: String, _ url: UpstreamURL, _ upstream: UpstreamDescription, key: ConfigurationSecret?
    ) -> Check {
        guard
            case .success(let answer) = CommandProbe.get(url.path + "/api/tags", from: url.address, key: key),
            answer.status == 200, let present = JSONStrings.members("name", inListOf: "models", of: answer.body)
        else {
            return .wrong(.modelServer, of: subject, "\(url) does not list its models", advice: "see its own log")
        }
        guard !present.isEmpty else {
            return .wrong(
                .modelServer, of: subject, "it has no models",
                advice: "fetch one there, for example: ollama pull tinyllama")
        }
        // Ollama takes a name without a tag as the one tagged latest.
        let missing = upstream.models.filter { !present.contains($0) && !present.contains("\($0):latest") }
        guard missing.isEmpty else {
            return .wrong(
                .modelServer, of: subject, "it lacks \(missing.joined(separator: ", "))",
                advice: "fetch there: ollama pull \(missing.joined(separator: ", "))")
        }
        return .fine(.modelServer, of: subject, shown(present))
    }

    private static func unreachable(_ subject: String, _ url: UpstreamURL, _ failure: CommandProbe.Failure) -> Check {
        failure.isConnected
            ? .wrong(
                .modelServer, of: subject, "\(url) accepts connections, but does not answer: \(failure.message)",
                advice: "see its own log: does it hang, or is it overloaded?")
            : .wrong(
                .modelServer, of: subject, "no server answers at \(url): \(failure.message)",
                advice: "start it, or correct OLLAMA_URL or CHATTERD_UPSTREAMS")
    }
}
