import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// Requests and answers of Ollama's door.
struct OllamaTests {
    @Test func chatIsPassedMemberByMember() throws {
        let message =
            #"{"role":"User","content":"Hi","images":["AAAA"],"mood":"ignored as by Ollama"}"#
        let call = #"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}"#
        #expect(
            try summary(
                #"{"model":"m","messages":[\#(message),\#(call),{"role":"tool","content":"9","tool_name":"f"}],"options":{"seed":1},"think":"low","keep_alive":0}"#,
                by: OllamaChat()) == [
                    #"user: Hi {"images":["AAAA"]}"#,
                    #"assistant:  {"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}"#,
                    #"tool: 9 {"tool_name":"f"}"#, #"options={"seed":1}"#, #"think="low""#, "keep_alive=0",
                ])
    }

    @Test func longNameOfAMemberIsRefused() {
        let name = String(repeating: "n", count: 400)
        let body = #"{"model":"m","messages":[{"role":"user","content":"a"}],"\#(name)":1}"#
        let fault = #expect(throws: RelayError.self) { try OllamaChat().request(Array(body.utf8)) }
        #expect(fault?.message == "The body has a member whose name has more than 128 bytes.")
    }

    @Test func chatIsStreamedByDefaultAndPassedWithoutMessages() throws {
        let asked = try OllamaChat().request(Array(#"{"model":"m","messages":[{"role":"user","content":""}]}"#.utf8))
        #expect(asked.chat.stream && !asked.isPassed)
        #expect(try OllamaChat().request(Array(#"{"model":"m"}"#.utf8)).isPassed)
    }

    @Test(arguments: [
        ("", "missing request body"),
        (#"{"messages":[{"role":"user","content":[]}]}"#, "messages[0].content must be a string."),
        (#"{"messages":[{}]}"#, "messages[0].role is missing."),
    ])
    func faultIsASentence(_ body: String, _ sentence: String) {
        let fault = #expect(throws: RelayError.self) { try OllamaChat().request(Array(body.utf8)) }
        #expect(fault?.message == sentence)
    }

    @Test func generatedTextIsAskedForAsAChat() throws {
        #expect(
            try summary(
                #"{"model":"m","prompt":"Why?","system":"Be short.","images":["AAAA"],"suffix":"","template":"","raw":false,"options":{},"think":true}"#,
                by: OllamaGenerate()) == [
                    "system: Be short.", #"user: Why? {"images":["AAAA"]}"#, "options={}", "think=true",
                ])
    }

    @Test func generatedTextBelongsToNoConversation() throws {
        #expect(try !OllamaGenerate().request(Array(#"{"model":"m","prompt":"a"}"#.utf8)).isRemembered)
        let chat = #"{"model":"m","messages":[{"role":"user","content":"a"}]}"#
        #expect(try OllamaChat().request(Array(chat.utf8)).isRemembered)
    }

    @Test(arguments: [
        #""prompt":"""#, #""system":"s""#, #""prompt":"a","raw":true"#, #""prompt":"a","suffix":"b""#,
        #""prompt":"a","template":"t""#, #""prompt":"a","context":[1]"#,
    ])
    func requestThatOnlyOllamaUnderstandsIsPassed(_ members: String) throws {
        #expect(try OllamaGenerate().request(Array(#"{"model":"m",\#(members)}"#.utf8)).isPassed)
    }

    @Test func linesOfAChatAreSentAsTheyAre() {
        let lines = [token(#""content":"a""#), last()]
        #expect(stream(lines, by: OllamaChat()) == lines.map { $0 + "\n" }.joined())
    }

    @Test func linesOfAGenerationHaveAResponse() {
        let call = #"[{"function":{"name":"f"}}]"#
        let lines = [
            token(#""content":"a\n""#), token(#""content":"","thinking":"hm""#),
            last(#""content":"","tool_calls":\#(call)"#),
        ]
        let head = #"{"model":"u","created_at":"2026-01-01T00:00:00Z","response":"#
        #expect(
            stream(lines, by: OllamaGenerate())
                == head + #""a\n","done":false}"# + "\n" + head + #""","thinking":"hm","done":false}"# + "\n"
                + #"{"model":"u","created_at":"2026-01-01T00:00:01Z","response":"","tool_calls":\#(call),"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":7}"#
                + "\n")
    }

    @Test func wholeAnswersAreOneObject() {
        let end = #""done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":7}"#
        let head = #"{"model":"u","created_at":"2026-01-01T00:00:01Z","#
        #expect(
            encodeWhole("a", thinking: "b", calls: "{}", last: last(), by: OllamaChat())
                == head + #""message":{"role":"assistant","content":"a","thinking":"b","tool_calls":[{}]},"# + end)
        #expect(
            encodeWhole("a", thinking: "b", calls: "{}", last: last(), by: OllamaGenerate())
                == head + #""response":"a","thinking":"b","tool_calls":[{}],"# + end)
    }

    @Test(arguments: [OllamaChat() as any ChatTranslator, OllamaGenerate()])
    func faultInAStreamIsALine(_ translator: any ChatTranslator) {
        var encoder = translator.makeEncoder(context())
        #expect(
            text { encoder.fail(RelayError(.internal, "Lost."), at: 0, to: &$0) }
                == #"{"error":"Lost."}"# + "\n")
        #expect(text { encoder.keepAlive(to: &$0) } == " ")
    }

    /// GitHub Copilot compares the numbers with 0.6.4.
    @Test func versionOfTheAPIIsThatOfARecentOllama() {
        let numbers = OllamaDoor.apiVersion.split(separator: ".").map { Int($0) ?? -1 }
        #expect(numbers.count == 3 && numbers.allSatisfy { $0 >= 0 })
        #expect([0, 6, 4].lexicographicallyPrecedes(numbers))
    }

    @Test func modelHasTheMembersThatClientsRead() {
        let model = DoorModel(name: "m:latest", context: 4096)
        let details =
            #""details":{"parent_model":"","format":"","family":"","families":[],"parameter_size":"","quantization_level":"","context_length":4096}"#
        // The SHA-256 of the name.
        let digest = "7d68855b94ba284c865d5ca5422d298527157c6f526a800f38c8a0d25dcb73ee"
        #expect(
            text { OllamaModels().append([model], to: &$0) }
                == #"{"models":[{"name":"m:latest","model":"m:latest","modified_at":"1970-01-01T00:00:00Z","size":0,"digest":"\#(digest)",\#(details)}]}"#
        )
        #expect(text { OllamaRunningModels().append([model], to: &$0) } == #"{"models":[]}"#)
        #expect(
            text { OllamaModelDetails().append(model, to: &$0) }.contains(#""capabilities":["completion","tools"]"#))
    }

    @Test func contextLengthOfAModelIsUnderItsArchitecture() {
        func shown(_ model: DoorModel) -> String { text { OllamaModelDetails().append(model, to: &$0) } }
        #expect(
            shown(DoorModel(name: "m", context: 131_072))
                .contains(#""model_info":{"general.architecture":"unknown","unknown.context_length":131072},"#))
        let unknown = shown(DoorModel(name: "m"))
        #expect(unknown.contains(#""model_info":{"general.architecture":"unknown"},"#))
        #expect(!unknown.contains("context_length"))
        var installed = InstalledModel()
        installed.family = "llama"
        #expect(
            shown(DoorModel(name: "m", context: 8, installed: installed))
                .contains(#""model_info":{"general.architecture":"llama","llama.context_length":8},"#))
    }

    @Test func contextLengthThatIsUnknownIsAbsentFromAllLists() {
        let listers: [any ModelLister] = [OllamaModels(), OpenAIModels(), AnthropicModels()]
        for lister in listers {
            let list = text { lister.append([DoorModel(name: "m")], to: &$0) }
            for name in ["context_length", "max_model_len", "max_input_tokens"] { #expect(!list.contains(name)) }
        }
    }
}
