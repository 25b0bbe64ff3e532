import ChatterdBasics
import ChatterdChat
import ChatterdModelServers
import ChatterdRelay
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The names in the list of `/models`.
@Suite(.timeLimit(.minutes(30))) struct ModelsRouteTests {
    private func upstream(
        _ name: String, _ kind: UpstreamDescription.Kind = .openai, models: [String] = [],
        aliases: [String: String] = [:], priority: Int = 0, context: Int? = nil
    ) -> Upstream {
        var description = UpstreamDescription(name: name, kind: kind)
        description.models = models
        description.aliases = aliases
        description.priority = priority
        description.contextLength = context
        return Upstream(description, model: Confined(SilentModel(), to: Unused()), health: UpstreamHealth())
    }

    private func models(_ said: [(Upstream, [ModelDescription]?)]) -> [ModelsRoute.Model] {
        ModelsRoute.models(
            said.map { upstream, models in
                ModelListCache.Listing(
                    upstream: upstream,
                    models: models.map { .success($0) } ?? .failure(ModelError(.unavailable, "away")))
            }, in: UpstreamDirectory(said.map(\.0)))
    }

    @Test func modelOfSeveralServersIsListedOnceInTheirOrder() {
        let (one, two) = (upstream("one"), upstream("two", priority: 1))
        let listed = models([
            (one, [ModelDescription(name: "m", contextLength: 10)]),
            (two, [ModelDescription(name: "m"), ModelDescription(name: "n", contextLength: 20)]),
        ])
        #expect(
            listed == [
                ModelsRoute.Model(name: "m", upstreams: ["two", "one"], context: 10),
                ModelsRoute.Model(name: "n", upstreams: ["two"], context: 20),
            ])
    }

    @Test func unreachableServerHasNoModels() {
        let listed = models([
            (upstream("away", models: ["m"]), nil), (upstream("here", models: ["m"]), [ModelDescription(name: "m")]),
        ])
        #expect(listed.map(\.upstreams) == [["here"]])
        #expect(models([(upstream("away", models: ["m"]), nil)]) == [])
    }

    @Test func serverWithAListHasOnlyTheListedModels() {
        let listed = models([
            (upstream("a", models: ["m", "gone"]), [ModelDescription(name: "m"), ModelDescription(name: "other")])
        ])
        #expect(listed.map(\.name) == ["m"])
    }

    @Test func listedModelIsNotOfferedByOtherServers() {
        let listed = models([
            (upstream("any"), [ModelDescription(name: "m"), ModelDescription(name: "n")]),
            (upstream("owner", models: ["m"]), [ModelDescription(name: "m")]),
        ])
        #expect(listed.map(\.upstreams) == [["owner"], ["any"]])
    }

    @Test func aliasesAreListedForExistingModels() {
        let server = upstream("a", .ollama, models: ["m"], aliases: ["fast": "m", "lost": "gone"], context: 7)
        let listed = models([(server, [ModelDescription(name: "m:latest", contextLength: 9)])])
        #expect(
            listed == [
                ModelsRoute.Model(name: "m", upstreams: ["a"], context: 7),
                ModelsRoute.Model(name: "fast", upstreams: ["a"], context: 7),
            ])
    }

    @Test func configuredModelsAreListedIfTheServerListsNone() {
        #expect(models([(upstream("a", models: ["m"]), [])]).map(\.name) == ["m"])
        #expect(models([(upstream("a"), [])]) == [])
    }
}

/// The confinement of a model that is never asked.
private struct Unused: Confinement {
    func preconditionCurrent() {
        preconditionFailure("the model is used")
    }
}

/// A model that is never asked.
private final class SilentModel: LanguageModel {
    func generate(_ request: GenerationRequest, to consumer: any GenerationConsumer) -> any Generation {
        fatalError("the test does not ask this model")
    }

    func listModels() async throws(ModelError) -> [ModelDescription] { [] }
}
