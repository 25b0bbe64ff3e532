import LanguageModels
import Relay
import Testing

@Suite(.timeLimit(.minutes(15))) struct UpstreamDirectoryTests {
    private func upstream(_ name: String, models: [String] = [], priority: Int = 0) -> Upstream {
        var description = UpstreamDescription(name: name, kind: .echo)
        description.models = models
        description.priority = priority
        return Upstream(description, model: ScriptedModel(), health: UpstreamHealth())
    }

    private func names(_ choices: [UpstreamChoice]) -> [String] {
        choices.map { "\($0.upstream.description.name):\($0.model)" }
    }

    @Test func aNameGoesToWhoClaimsItAndTheRestToWhoClaimsNothing() {
        let directory = UpstreamDirectory([upstream("1"), upstream("2", models: ["echo", "x"])])
        #expect(names(directory.choices(for: "echo")) == ["2:echo"])
        #expect(names(directory.choices(for: "anything")) == ["1:anything"])
    }

    @Test func ofThoseThatClaimANameTheOneWithTheGreaterPriorityComesFirst() {
        let directory = UpstreamDirectory([
            upstream("1", models: ["x"]), upstream("2", models: ["x", "y"]), upstream("3", models: ["x"], priority: 1),
        ])
        #expect(names(directory.choices(for: "x")) == ["3:x", "1:x", "2:x"])
        #expect(names(directory.choices(for: "y")) == ["2:y"])
    }

    @Test func whereAllClaimSomethingTheFirstServesTheRest() {
        let directory = UpstreamDirectory([upstream("1", models: ["x"]), upstream("2", models: ["y"])])
        #expect(names(directory.choices(for: "z")) == ["1:z"])
        #expect(directory.choices(for: "z").count == 1)
    }

    @Test func aServersNameBeforeASlashChoosesIt() {
        let directory = UpstreamDirectory([upstream("1"), upstream("gpu", models: ["y", "vendor/model"])])
        #expect(names(directory.choices(for: "gpu/anything")) == ["gpu:anything"])
        #expect(names(directory.choices(for: "vendor/model")) == ["gpu:vendor/model"])
        #expect(names(directory.choices(for: "other/model")) == ["1:other/model"])
    }

    @Test func anAliasStandsForAModel() {
        var description = UpstreamDescription(name: "1", kind: .echo)
        description.models = ["llama3.2:3b"]
        description.aliases = ["small": "llama3.2:3b"]
        let directory = UpstreamDirectory([
            Upstream(description, model: ScriptedModel(), health: UpstreamHealth())
        ])
        #expect(names(directory.choices(for: "small")) == ["1:llama3.2:3b"])
        #expect(names(directory.choices(for: "1/small")) == ["1:llama3.2:3b"])
    }

    @Test func everyErrorHasACodeOfItsOwn() {
        let codes = RelayError.Code.all.map(\.rawValue)
        #expect(Set(codes).count == codes.count)
        #expect(codes.allSatisfy { $0.allSatisfy { $0.isLowercase || $0 == "_" } })
    }
}
