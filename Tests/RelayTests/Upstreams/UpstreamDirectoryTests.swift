import ChatterdChat
import Testing

@testable import ChatterdRelay

@Suite(.timeLimit(.minutes(30))) struct UpstreamDirectoryTests {
    private func description(
        _ name: String, _ kind: UpstreamDescription.Kind = .openai, models: [String] = [],
        aliases: [String: String] = [:], priority: Int = 0
    ) -> UpstreamDescription {
        var description = UpstreamDescription(name: name, kind: kind)
        description.models = models
        description.aliases = aliases
        description.priority = priority
        return description
    }

    private func directory(
        _ descriptions: UpstreamDescription..., unusable: [UpstreamDescription] = []
    ) -> UpstreamDirectory {
        UpstreamDirectory(
            descriptions.map { Upstream($0, model: ScriptedModel(), health: UpstreamHealth()) },
            unusable: unusable.map {
                UnusableUpstream(UpstreamNames($0), reason: "its key cannot be found", detail: "no KEY")
            })
    }

    private func names(_ targets: [ModelTarget]) -> [String] {
        targets.map { "\($0.upstream.description.name):\($0.model)" }
    }

    @Test func listedNameGoesToTheServerThatListsItAndOthersToTheServersWithoutAList() {
        let directory = directory(description("1"), description("2", models: ["echo", "x"]))
        #expect(names(directory.targets(for: "echo")) == ["2:echo"])
        #expect(names(directory.targets(for: "anything")) == ["1:anything"])
    }

    @Test func greaterPriorityComesFirstAmongServersThatListAName() {
        let directory = directory(
            description("1", models: ["x", "x"]), description("2", models: ["x", "y"]),
            description("3", models: ["x"], priority: 1))
        #expect(names(directory.targets(for: "x")) == ["3:x", "1:x", "2:x"])
        #expect(names(directory.targets(for: "y")) == ["2:y"])
    }

    @Test func unlistedNameGoesToNoServerWhenAllHaveLists() {
        let directory = directory(
            description("1", models: ["qwen3"]),
            description("2", models: ["llama3.2:3b"], aliases: ["small": "llama3.2:3b"]))
        #expect(directory.targets(for: "gpt-77-nobody-has-it").isEmpty)
        let refusal = directory.refusal(of: "gpt-77-nobody-has-it")
        #expect(refusal.code == .modelNotFound)
        #expect(
            refusal.message
                == "No model server has the model \"gpt-77-nobody-has-it\". "
                + "GET /models lists the available models.")
        #expect(directory.refusal(of: "llama3.2").message.hasSuffix("Did you mean \"llama3.2:3b\"?"))
        #expect(directory.refusal(of: "smal").message.hasSuffix("Did you mean \"small\"?"))
        #expect(directory.refusal(of: "2/smal").message.hasSuffix("Did you mean \"2/small\"?"))
        #expect(directory.refusal(of: String(repeating: "n", count: 5_000)).message.utf8.count < 250)
    }

    // MARK: - What servers list themselves

    /// A directory of servers without configured models, which answer so when they are asked, and the number of times they were.
    private func directory(
        answers: KeyValuePairs<String, UpstreamDirectory.Answer>, configured: UpstreamDescription...
    ) -> UpstreamDirectory {
        let upstreams = (answers.map { description($0.key, .ollama) } + configured).map {
            Upstream($0, model: ScriptedModel(), health: UpstreamHealth())
        }
        let directory = UpstreamDirectory(upstreams)
        directory.askForModels = { [unowned directory] in
            for (upstream, (_, answer)) in zip(upstreams, answers) {
                directory.learn(answer, of: upstream)
            }
        }
        return directory
    }

    @Test func nameGoesToTheServersThatListIt() async {
        let directory = directory(answers: [
            "a": .names(["qwen3:latest", "x"]), "b": .names(["x", "y:1"]), "c": .none, "d": .unreachable,
            "e": .failed,
        ])
        for (name, servers) in [
            "x": ["a:x", "b:x"], "y:1": ["b:y:1"], "qwen3": ["a:qwen3"], "qwen3:latest": ["a:qwen3:latest"],
            // Only a server without a list may have it.
            "y": ["c:y", "e:y"], "typo": ["c:typo", "e:typo"], "qwen3:8b": ["c:qwen3:8b", "e:qwen3:8b"],
            "a/typo": ["a:typo"],
        ] {
            await directory.prepare(for: name)
            #expect(names(directory.targets(for: name)) == servers, "\(name)")
            #expect(directory.refusalOfRequest(for: name) == nil, "\(name)")
        }
    }

    @Test func nameThatNoListHasIsRefusedWithSimilarOnes() async {
        let directory = directory(answers: ["a": .names(["qwen3:8b"]), "b": .names(["llama3.2:latest"])])
        await directory.prepare(for: "llama3.3")
        #expect(directory.targets(for: "llama3.3").isEmpty)
        let refusal = directory.refusalOfRequest(for: "llama3.3")
        #expect(refusal?.code == .modelNotFound)
        #expect(refusal?.message == "No model server has the model \"llama3.3\". Did you mean \"llama3.2\"?")
    }

    /// The request is refused at once, and may be sent again. A reply that was accepted earlier waits for the server.
    @Test func nameThatOnlyAnUnreachableServerMayHaveIsRefusedForNow() async {
        let directory = directory(answers: ["a": .names(["qwen3:8b"]), "b": .unreachable])
        await directory.prepare(for: "qwen3:8")
        let refusal = directory.refusalOfRequest(for: "qwen3:8")
        #expect(refusal?.code == .unavailable)
        #expect(
            refusal?.message == "No model server that can be reached has the model \"qwen3:8\". "
                + "Did you mean \"qwen3:8b\"? \"b\" cannot be reached, and may have it.")
        #expect(names(directory.targets(for: "qwen3:8")) == ["b:qwen3:8"])
    }

    @Test(arguments: [UpstreamDirectory.Answer.unreachable, .failed])
    func serverThatDoesNotListKeepsTheNamesOfItsLastList(answer: UpstreamDirectory.Answer) async throws {
        let directory = directory(answers: ["a": .names(["x"]), "b": .names(["y"])])
        await directory.prepare(for: "x")
        directory.learn(answer, of: directory.upstreams[0])
        #expect(names(directory.targets(for: "x")) == ["a:x"] && directory.targets(for: "z").isEmpty)
        directory.learn(.names(["z"]), of: directory.upstreams[0])
        #expect(directory.targets(for: "x").isEmpty && names(directory.targets(for: "z")) == ["a:z"])
        // A changed list of servers keeps what the unchanged ones have listed.
        directory.update(directory.upstreams)
        #expect(names(directory.targets(for: "z")) == ["a:z"])
        directory.learn(.none, of: directory.upstreams[0])
        #expect(names(directory.targets(for: "z")) == ["a:z"] && names(directory.targets(for: "any")) == ["a:any"])
    }

    @Test func serversOfWhichNoneCanBeReachedAreAsked() async {
        let directory = directory(answers: ["a": .unreachable, "b": .unreachable])
        await directory.prepare(for: "x")
        #expect(names(directory.targets(for: "x")) == ["a:x", "b:x"])
        #expect(directory.refusalOfRequest(for: "x") == nil)
    }

    @Test func onlyServerIsAskedForAnyName() {
        let directory = directory(
            answers: ["a": .names(["x"])], configured: description("echo", .echo, models: ["echo"]))
        directory.learn(.names(["x"]), of: directory.upstreams[0])
        #expect(!directory.depends(onListsFor: "y") && names(directory.targets(for: "y")) == ["a:y"])
    }

    @Test func configuredNamesNeedNoList() async {
        let directory = directory(answers: ["a": .names(["x"])], configured: description("b", models: ["x", "m"]))
        for name in ["x", "m", "a/any", "b/m", "b/none"] {
            #expect(!directory.depends(onListsFor: name), "\(name)")
        }
        #expect(names(directory.targets(for: "x")) == ["b:x"])
        await directory.prepare(for: "typo")
        #expect(directory.targets(for: "typo").isEmpty)
    }

    /// Servers are asked before a refusal, and for a name of which nothing is known; otherwise requests do not wait for lists.
    @Test func requestsWaitForListsOnlyIfTheyDecide() async {
        let directory = directory(answers: ["a": .names(["x"]), "b": .names(["y"])])
        var (asked, refreshed) = (0, 0)
        let ask = directory.askForModels
        directory.askForModels = {
            asked += 1
            await ask?()
        }
        directory.refreshModels = { refreshed += 1 }
        for (name, total) in [("x", 1), ("x", 1), ("y", 1), ("typo", 2), ("typo", 3), ("a/typo", 3)] {
            await directory.prepare(for: name)
            #expect(asked == total, "\(name)")
        }
        #expect(refreshed == 5)
        directory.learn(.none, of: directory.upstreams[1])
        await directory.prepare(for: "typo")
        #expect(asked == 3 && names(directory.targets(for: "typo")) == ["b:typo"])
    }

    @Test func refusalSaysThatThereIsNoServer() {
        let refusal = directory().refusal(of: "x")
        #expect(refusal.code == .modelNotFound && refusal.message == "There is no model server.")
    }

    @Test func serverNameBeforeASlashChoosesTheServerForItsOwnModelsOnly() {
        let directory = directory(
            description("1"), description("any"), description("gpu", models: ["y", "vendor/model"]))
        #expect(names(directory.targets(for: "any/thing")) == ["any:thing"])
        #expect(names(directory.targets(for: "gpu/y")) == ["gpu:y"])
        #expect(names(directory.targets(for: "gpu/vendor/model")) == ["gpu:vendor/model"])
        #expect(names(directory.targets(for: "vendor/model")) == ["gpu:vendor/model"])
        #expect(names(directory.targets(for: "other/model")) == ["1:other/model", "any:other/model"])
        // The name selects the server: no other server gets the prompt.
        #expect(directory.targets(for: "gpu/x").isEmpty)
        #expect(directory.refusal(of: "gpu/x").code == .modelNotFound)
    }

    @Test func aliasStandsForAModel() {
        let directory = directory(
            description("1", models: ["llama3.2:3b"], aliases: ["small": "llama3.2:3b"]), description("2"))
        #expect(names(directory.targets(for: "small")) == ["1:llama3.2:3b"])
        #expect(names(directory.targets(for: "1/small")) == ["1:llama3.2:3b"])
    }

    @Test func namesOfAnUnusableServerStayItsOwn() {
        let directory = directory(
            description("cloud", models: ["gpt-5-mini", "shared"]), description("any"),
            unusable: [description("private", models: ["in-house", "shared"], aliases: ["ours": "in-house"])])
        for name in ["in-house", "ours", "private/in-house", "private/ours"] {
            #expect(directory.targets(for: name).isEmpty, "\(name)")
            let refusal = directory.refusal(of: name)
            #expect(refusal.code == .unavailable)
            #expect(
                refusal.message
                    == "The model server for \"\(name)\" is not set up: its key cannot be found. "
                    + "Its operator must correct that.")
            #expect(refusal.detail == "private: no KEY")
        }
        #expect(names(directory.targets(for: "shared")) == ["cloud:shared"])
        #expect(names(directory.targets(for: "other")) == ["any:other"])
    }

    @Test func unlistedNameIsUnavailableWhileTheOnlyServerWithoutAListIsUnusable() {
        let directory = directory(description("cloud", models: ["gpt-5-mini"]), unusable: [description("any")])
        #expect(directory.targets(for: "x").isEmpty)
        #expect(directory.refusal(of: "x").code == .unavailable)
        #expect(directory.refusal(of: "cloud/x").code == .modelNotFound)
        #expect(directory.refusal(of: "any/x").code == .unavailable)
    }

    @Test func repairedServerGetsItsNamesAgain() {
        let directory = directory(description("any"), unusable: [description("private", models: ["in-house"])])
        #expect(directory.targets(for: "in-house").isEmpty)
        directory.update([
            Upstream(
                description("private", models: ["in-house"]), model: ScriptedModel(), health: UpstreamHealth())
        ])
        #expect(names(directory.targets(for: "in-house")) == ["private:in-house"])
    }

    @Test func builtInModelAnswersToItsOwnNamesOnly() {
        let directory = directory(description("echo", .echo, models: ["echo"]), description("parrot", .echo))
        #expect(names(directory.targets(for: "echo")) == ["echo:echo"])
        #expect(names(directory.targets(for: "echo/anything")) == ["echo:anything"])
        #expect(names(directory.targets(for: "parrot")) == ["parrot:parrot"])
        for name in ["llama3.2", "ECHO", "echo2", ""] {
            #expect(directory.targets(for: name).isEmpty, "\(name)")
            #expect(directory.refusal(of: name).code == .modelNotFound)
        }
    }

    @Test func eachErrorHasItsOwnCode() {
        let codes = RelayError.Code.all.map(\.rawValue)
        #expect(Set(codes).count == codes.count)
        #expect(codes.allSatisfy { $0.allSatisfy { $0.isLowercase || $0 == "_" } })
    }
}
