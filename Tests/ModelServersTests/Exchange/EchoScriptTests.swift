import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdDialects
@testable import ChatterdModelServers

struct EchoScriptTests {
    private let prompt = [ModelMessage(role: "user", content: "Hi there")]

    private func script(_ variant: EchoVariant, tools: [String] = []) -> EchoScript {
        EchoScript(variant, to: prompt, interval: .milliseconds(30), tools: tools)
    }

    private func text(_ script: EchoScript) -> String {
        script.pieces.map { piece in
            if case .text(let text) = piece { text } else { "" }
        }.joined()
    }

    @Test func nameOfEachModelSelectsItsVariant() {
        for variant in EchoVariant.allCases {
            #expect(EchoVariant(model: variant.modelName) == variant)
        }
        #expect(EchoVariant(model: "parrot:slow") == .slow)
        for name in ["", "slow", "echo:", "echo:SLOW", "echo:slow:", "anything"] {
            #expect(EchoVariant(model: name) == .plain, "\(name)")
        }
    }

    @Test func failuresAreOnDemandAndNameTheirModel() {
        let codes: [EchoVariant: ModelError.Code] = [
            .error: .failed, .refuse: .rejected, .busy: .busy, .context: .contextTooLong, .cut: .incomplete,
            .stall: .silenceTimeout,
        ]
        for variant in EchoVariant.allCases {
            let failure = script(variant).failure
            #expect(failure?.code == codes[variant])
            guard let failure else { continue }
            #expect(failure.hint == .onDemand && failure.message.contains(variant.modelName))
        }
    }

    @Test(arguments: [EchoVariant.error, .refuse, .busy, .context, .empty])
    func answersWithoutText(_ variant: EchoVariant) {
        #expect(script(variant).pieces.isEmpty)
    }

    @Test(arguments: [EchoVariant.cut, .stall]) func answersThatBreakHaveTheFirstHalf(_ variant: EchoVariant) {
        let whole = text(script(.plain))
        let half = text(script(variant))
        #expect(!half.isEmpty && half != whole && whole.hasPrefix(half))
    }

    @Test func slowAnswerHasTheSameTextAndLongerPauses() {
        #expect(script(.slow).pieces == script(.plain).pieces)
        #expect(script(.slow).interval == .milliseconds(300))
        #expect(script(.stall).lastInterval == .seconds(60) && script(.stall).interval == .milliseconds(30))
    }

    @Test func thoughtsComeBeforeTheAnswer() {
        let pieces = script(.thinking).pieces
        let firstWord = pieces.firstIndex { if case .text = $0 { true } else { false } }
        #expect(firstWord.map { $0 > 0 } == true)
        #expect(pieces.dropFirst(firstWord ?? 0) == script(.plain).pieces[...])
    }

    @Test func toolIsTheFirstOfTheRequest() {
        #expect(script(.tool).pieces == [.toolCall(name: "echo", text: "Hi there")])
        #expect(script(.tool, tools: ["clock", "map"]).pieces == [.toolCall(name: "clock", text: "Hi there")])
    }

    @Test func resultOfTheToolIsAnsweredWithText() {
        let messages = prompt + [ModelMessage(role: "tool", content: "It is noon.")]
        let answer = EchoScript(.tool, to: messages, interval: .zero, tools: ["clock"])
        #expect(text(answer) == "The tool returned: It is noon.")
    }

    @Test func longAnswerHasEachNumber() {
        let numbers = text(script(.long)).split(separator: " ")
        #expect(numbers.elementsEqual((1...EchoScript.longCount).map { Substring("\($0)") }))
        #expect(text(script(.long)).utf8.count == 288_894)
    }

    @Test func markdownHasCodeAndATable() {
        let markdown = text(script(.markdown))
        #expect(markdown.contains("```swift\n") && markdown.contains("| :--- |"))
    }

    @Test func offeredToolsAreReadUpToAMalformedOne() {
        func tools(_ json: String) -> [String] {
            EchoModel.tools(in: [RawMember(key: "tools", value: Array(json.utf8))])
        }
        let clock = #"{"type":"function","function":{"name":"clock","parameters":{}}}"#
        #expect(tools("[\(clock),{\"function\":{\"name\":\"m\\u00e4p\"}}]") == ["clock", "mäp"])
        #expect(tools("[\(clock),7]") == ["clock"])
        #expect(tools("[{}]").isEmpty && tools("7").isEmpty && EchoModel.tools(in: []).isEmpty)
    }
}
