import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// Requests of `/v1/chat/completions` in chatterd's own form.
struct OpenAIRequestTests {
    private func read(_ members: String, messages: String = #"[{"role":"user","content":"Hi"}]"#) throws -> [String] {
        try summary(#"{"model":"m","messages":\#(messages)\#(members)}"#, by: OpenAIChat())
    }

    @Test func samplingMembersBecomeOptions() throws {
        #expect(
            try read(#","max_tokens":9,"temperature":0.5,"top_p":1,"seed":7,"presence_penalty":0,"stop":"x""#) == [
                "user: Hi",
                #"options={"temperature":0.5,"top_p":1,"seed":7,"presence_penalty":0,"num_predict":9,"stop":["x"]}"#,
            ])
        #expect(
            try read(#","max_tokens":9,"max_completion_tokens":8,"stop":["a","b"]"#)[1]
                == #"options={"num_predict":8,"stop":["a","b"]}"#)
    }

    @Test(arguments: ["max_tokens", "max_completion_tokens"])
    func limitIsAboveZeroOrNone(_ name: String) throws {
        for (limit, number) in [("9", 9), ("9.0", 9), ("9e2", 900)] {
            #expect(try read(#","\#(name)":\#(limit)"#)[1] == #"options={"num_predict":\#(number)}"#)
        }
        for limit in ["-1", "-1.0", "null"] {
            #expect(try read(#","\#(name)":\#(limit)"#) == ["user: Hi"])
        }
        for limit in ["0", "-2", "0.5", "1e400", "9223372036854775808", #""9""#, "true"] {
            let fault = #expect(throws: RelayError.self) { try read(#","\#(name)":\#(limit)"#) }
            #expect(fault?.parameter == name)
            #expect(fault?.message == "\(name) must be a whole number above 0, or -1 for no limit.")
        }
        #expect(try read(#","max_tokens":9,"max_completion_tokens":-1"#) == ["user: Hi"])
    }

    /// Ollama refuses a call whose arguments are no object, and would do so at each later turn.
    @Test(arguments: [
        (#""{\"a\":1}""#, #"{"a":1}"#), (#"{"a":1}"#, #"{"a":1}"#), ("null", "{}"), (#""""#, "{}"), (#"" \n""#, "{}"),
        (#""null""#, "{}"), (#""[]""#, #"{"arguments":"[]"}"#), (#""5""#, #"{"arguments":"5"}"#),
        (#""{\"a\":""#, #"{"arguments":"{\"a\":"}"#),
    ])
    func argumentsOfACallBecomeAnObject(arguments: String, expected: String) throws {
        let function = #"{"name":"f","arguments":\#(arguments)}"#
        let call = #"[{"role":"assistant","tool_calls":[{"function":\#(function)}]}]"#
        let calls = #"{"tool_calls":[{"function":{"name":"f","arguments":\#(expected)}}]}"#
        #expect(try read("", messages: call)[0].hasSuffix(calls))
        #expect(try summary(#"{"model":"m","messages":\#(call)}"#, by: OllamaChat())[0].hasSuffix(calls))
    }

    @Test(arguments: ["[]", "5", "true"])
    func argumentsThatAreNeitherAnObjectNorATextAreRefused(arguments: String) {
        let call = #"[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":\#(arguments)}}]}]"#
        let fault = #expect(throws: RelayError.self) { try read("", messages: call) }
        #expect(fault?.message.contains("messages[0].tool_calls[0].function.arguments") == true)
    }

    @Test func unknownMembersGoToTheModelServer() throws {
        #expect(
            try read(#","top_k":3,"cache_prompt":true,"user":"ada""#)[1...] == [
                "top_k=3", "cache_prompt=true", #"user="ada""#,
            ])
    }

    @Test(arguments: [#"\r\n\r\n"#, #"a\u001eb"#, #"a\u007f"#, #"a\u009b31m"#])
    func modelWithControlCharactersIsRefused(name: String) {
        let fault = #expect(throws: RelayError.self) {
            try summary(#"{"model":"\#(name)","messages":[{"role":"user","content":"Hi"}]}"#, by: OpenAIChat())
        }
        #expect(fault?.message == "model must not contain control characters.")
    }

    @Test func memberThatDiffersInCaseOnlyIsRefused() {
        #expect(throws: RelayError.self) { try read(#","Model":"other""#) }
    }

    @Test func formatReachesEachKindOfServerInItsOwnForm() throws {
        #expect(
            try read(#","response_format":{"type":"json_object"}"#)[1...]
                == [#"format="json""#, #"response_format={"type":"json_object"}"#])
        let schema = #"{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}}"#
        #expect(
            try read(#","response_format":\#(schema)"#)[1...]
                == [#"format={"type":"object"}"#, "response_format=\(schema)"])
        #expect(try read(#","response_format":{"type":"text"}"#).count == 1)
        #expect(throws: RelayError.self) { try read(#","response_format":{"type":"grammar"}"#) }
        #expect(throws: RelayError.self) { try read(#","response_format":{"type":"json_schema"}"#) }
    }

    @Test func effortIsThinking() throws {
        #expect(try read(#","reasoning_effort":"none""#)[1...] == ["think=false", #"reasoning_effort="none""#])
        #expect(try read(#","reasoning_effort":"xhigh""#)[1...] == [#"think="max""#, #"reasoning_effort="xhigh""#])
        #expect(throws: RelayError.self) { try read(#","reasoning_effort":"some""#) }
    }

    @Test func toolsArePassedUnlessNoneMayBeCalled() throws {
        let tool = #"{"type":"function","function":{"name":"f"}}"#
        #expect(try read(#","tools":[\#(tool)],"tool_choice":"auto""#)[1...] == ["tools=[\(tool)]"])
        #expect(
            try read(#","tools":[\#(tool)],"tool_choice":"required""#)[1...]
                == ["tools=[\(tool)]", #"tool_choice="required""#])
        #expect(try read(#","tools":[\#(tool)],"tool_choice":"none""#).count == 1)
        #expect(try read(#","tools":[],"tool_choice":"auto""#).count == 1)
    }

    @Test func usageIsReadAndOtherStreamOptionsAreIgnored() throws {
        let body = #"{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":"#
        let asked = try OpenAIChat().request(Array((body + #"{"include_usage":true}}"#).utf8))
        #expect(asked.includesUsage && asked.chat.stream)
        let padded = try OpenAIChat().request(Array((body + #"{"include_obfuscation":true}}"#).utf8))
        #expect(!padded.includesUsage && padded.ignored.paths == ["stream_options.include_obfuscation"])
    }

    @Test func partsOfTextAreJoinedAndImagesAreKept() throws {
        let parts =
            #"[{"type":"text","text":"a "},{"type":"text","text":"b"},"#
            + #"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA","detail":"auto"}},"#
            + #"{"type":"image_url","image_url":{"url":"https://x/y.png"}}]"#
        #expect(
            try read("", messages: #"[{"role":"user","content":\#(parts)}]"#)
                == [#"user: a \#nb {"images":["AAAA","https://x/y.png"]}"#])
    }

    @Test(arguments: [
        ("DATA:IMAGE/PNG;BASE64,AAAA", "AAAA"), ("data:;base64,AA%2BA%2f==", "AA+A/=="),
        ("data:image/png;base64,AA-_\\n A", "AA+/A"), ("http://x/data:y,z", "http://x/data:y,z"),
        ("data:image/svg+xml;charset=utf-8;base64,PHN2Zw==", "PHN2Zw=="),
    ])
    func dataURLsAreReadInAnySpelling(_ url: String, _ kept: String) throws {
        let part = #"[{"type":"image_url","image_url":{"url":"\#(url)"}}]"#
        #expect(
            try read("", messages: #"[{"role":"user","content":\#(part)}]"#) == [#"user:  {"images":["\#(kept)"]}"#])
    }

    @Test(arguments: [
        "data:image/svg+xml,%3Csvg/%3E", "data:image/png;base64", "data:image/png;base64,", "data:;base64,A%4",
        "data:;base64,A%zz",
        "data:;base64,A*A", "data:,A",
    ])
    func dataURLsWithoutBase64AreRefused(_ url: String) {
        let part = #"[{"type":"image_url","image_url":{"url":"\#(url)"}}]"#
        #expect {
            try read("", messages: #"[{"role":"user","content":\#(part)}]"#)
        } throws: { error in
            (error as? RelayError)?.code == .invalidRequest
                && (error as? RelayError)?.parameter == "messages[0].content[0].image_url.url"
        }
    }

    @Test(arguments: [
        #""modalities":["text" ]"#, #""modalities": [ "te\u0078t" ]"#, #""n":1.0"#, #""n":1e0"#,
        #""logprobs" : false "#,
        #""function_call":"au\u0074o""#,
    ])
    func harmlessValuesAreSoInAnySpelling(member: String) throws {
        _ = try read(",\(member)", messages: #"[{"role":"user","content":"Hi"}]"#)
    }

    @Test(arguments: [
        #""modalities":["text","audio"]"#, #""modalities":["audio"]"#, #""n":2"#, #""n":"1""#, #""logprobs":true"#,
    ])
    func otherValuesAreRefused(member: String) {
        #expect(throws: RelayError.self) { try read(",\(member)", messages: #"[{"role":"user","content":"Hi"}]"#) }
    }

    @Test func optionsForAnOllamaAreJoined() throws {
        let body = #"{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0.1,"#
        let request = try OpenAIChat().request(Array((body + #""options":{"num_ctx":16384,"temperature":1}}"#).utf8))
        let members = request.chat.passThrough.filter { $0.key == "options" }
        #expect(members.map { String(decoding: $0.value, as: UTF8.self) } == [#"{"num_ctx":16384,"temperature":0.1}"#])
        #expect(throws: RelayError.self) { try OpenAIChat().request(Array((body + #""options":[1]}"#).utf8)) }
    }

    @Test func callsAndResultsOfToolsAreInOllamasForm() throws {
        let call = #"{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":2}"}}"#
        let messages =
            #"[{"role":"developer","content":"s"},{"role":"user","content":"Hi"},"#
            + #"{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[\#(call)],"#
            + #""function_call":null,"provider_specific_fields":{"refusal":null}},"#
            + #"{"role":"tool","tool_call_id":"c1","content":"9"}]"#
        #expect(
            try read("", messages: messages) == [
                "system: s", "user: Hi",
                #"assistant:  {"thinking":"hm","tool_calls":[{"id":"c1","function":{"name":"f","arguments":{"b":1,"a":2}}}]}"#,
                #"tool: 9 {"tool_name":"f","tool_call_id":"c1"}"#,
            ])
    }

    @Test(arguments: [
        (#"{"messages":[{"role":"user","content":"Hi"}],"n":2}"#, "n"),
        (#"{"messages":[{"role":"user","content":"Hi"}],"logprobs":true}"#, "logprobs"),
        (#"{"messages":[{"role":"user","content":"Hi"}],"functions":[]}"#, "functions"),
        (#"{"model":"m"}"#, "messages"), (#"{"messages":[]}"#, "messages"), (#"{"messages":{}}"#, "messages"),
        (#"{"messages":["x"]}"#, "messages[0]"), (#"{"messages":[{"content":"x"}]}"#, "messages[0].role"),
        (#"{"messages":[{"role":"robot","content":"x"}]}"#, "messages[0].role"),
        (#"{"messages":[{"role":"user","content":7}]}"#, "messages[0].content"),
        (#"{"messages":[{"role":"user","name":7,"content":"x"}]}"#, "messages[0].name"),
        (#"{"messages":[{"role":"assistant","function_call":{"name":"f"}}]}"#, "messages[0].function_call"),
        (
            #"{"messages":[{"role":"user","content":[{"type":"input_audio"}]}]}"#, "messages[0].content[0].type"
        ),
        (#"{"model":7,"messages":[{"role":"user","content":"Hi"}]}"#, "model"),
        (#"{"stream":"yes","messages":[{"role":"user","content":"Hi"}]}"#, "stream"),
    ])
    func faultNamesItsMember(_ body: String, _ parameter: String) {
        let fault = #expect(throws: RelayError.self) { try OpenAIChat().request(Array(body.utf8)) }
        #expect(fault?.parameter == parameter && fault?.code == .invalidRequest)
    }

    @Test(arguments: ["", "{", "[]", "null", "\"x\"", "{\"a\":\u{0}}"])
    func bodyThatIsNoObjectIsRefused(_ body: String) {
        #expect(throws: RelayError.self) { try OpenAIChat().request(Array(body.utf8)) }
    }
}
