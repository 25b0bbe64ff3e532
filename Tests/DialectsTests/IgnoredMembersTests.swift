import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// What real programs send and no model server can do.
struct IgnoredMembersTests {
    /// A path of a door and what must surround the tested members.
    enum Path: CaseIterable {
        case chat
        case responses
        case messages
        case ollama

        var translator: any ChatTranslator {
            switch self {
            case .chat: OpenAIChat()
            case .responses: OpenResponses()
            case .messages: AnthropicMessages()
            case .ollama: OllamaChat()
            }
        }
    }

    /// A request, the paths that have no effect, and the request as text.
    typealias Row = (path: Path, body: String, ignored: [String], request: [String])

    static let rows: [Row] = [
        // Group chats of AutoGen.
        (.chat, #"{"messages":[{"role":"user","name":"ada","content":"Hi"}]}"#, [], [#"user: Hi {"name":"ada"}"#]),
        // OpenRouter's clients, LiteLLM and Copilot send back what they got.
        (
            .chat,
            #"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_text":"t","#
                + #""reasoning_details":[{}],"thinking_blocks":[],"refusal":null,"audio":null,"function_call":null,"annotations":[]},"#
                + #"{"role":"assistant","content":"c","reasoning_details":[{}],"annotations":[{}]}]}"#,
            ["messages[].reasoning_details", "messages[].thinking_blocks", "messages[].annotations"],
            ["user: a", #"assistant: b {"thinking":"t"}"#, "assistant: c"]
        ),
        // aider marks what a cache should keep.
        (
            .chat,
            #"{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#,
            [], ["user: a"]
        ),
        (
            .chat,
            #"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:;base64,AAAA","detail":"high"}}]}]}"#,
            ["messages[].content[].image_url.detail"], [#"user:  {"images":["AAAA"]}"#]
        ),
        (
            .chat,
            #"{"messages":[{"role":"user","content":"a"}],"stream_options":{"include_usage":true,"continuous_usage_stats":true}}"#,
            ["stream_options.continuous_usage_stats"], ["user: a"]
        ),
        // Claude Code.
        (
            .messages,
            #"{"max_tokens":1,"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"speed":"fast","#
                + #""system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; cch=36ee5;"},"#
                + #"{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"#
                + #""messages":[{"role":"user","content":"a"},{"role":"system","content":[{"type":"text","text":"Now."}]}]}"#,
            ["context_management", "speed"],
            [
                "system: x-anthropic-billing-header: cc_version=2; cch=00000;\nBe brief.", "user: a", "system: Now.",
                #"options={"num_predict":1}"#,
            ]
        ),
        (
            .messages,
            #"{"max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[{"name":"f","input_schema":{},"defer_loading":true,"#
                + #""allowed_callers":["direct"]},{"type":"bash_20250124","name":"bash"},{"name":"g","defer_loading":true}]}"#,
            ["tools[].defer_loading", "tools[].allowed_callers", "tools[]"],
            [
                "user: a",
                #"tools=[{"type":"function","function":{"name":"f","parameters":{}}},{"type":"function","function":{"name":"g"}}]"#,
                #"options={"num_predict":1}"#,
            ]
        ),
        (
            .messages,
            #"{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","title":"T","source":{"type":"text","data":"D"},"#
                + #""citations":{"enabled":true}}]},{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},"#
                + #"{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","#
                + #""tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"g"}]}]}]}"#,
            ["messages[].content[].citations", "messages[].content[]"],
            [
                "user: T\nD",
                #"assistant:  {"tool_calls":[{"id":"t","function":{"name":"f","arguments":{}}}]}"#,
                #"tool: g {"tool_name":"f","tool_call_id":"t"}"#, #"options={"num_predict":1}"#,
            ]
        ),
        // A file that the model never saw stays in the history of the client.
        (
            .messages,
            #"{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","title":"r.pdf","source":{"type":"base64","#
                + #""media_type":"application/pdf","data":"JVBERi0="}},{"type":"image","source":{"type":"file","file_id":"f"}}]},"#
                + #"{"role":"user","content":"Hi"}]}"#,
            ["messages[].content[]"],
            [
                "user: r.pdf\n[A file that the model cannot read]\n[A file that the model cannot read]", "user: Hi",
                #"options={"num_predict":1}"#,
            ]
        ),
        (
            .chat,
            #"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"file","file":{"filename":"r.pdf","#
                + #""file_data":"data:application/pdf;base64,JVBERi0="}}]},{"role":"user","content":"Hi"}]}"#,
            ["messages[].content[]"], ["user: a\n[A file that the model cannot read: r.pdf]", "user: Hi"]
        ),
        (
            .responses,
            #"{"input":[{"role":"user","content":[{"type":"input_file","filename":"r.pdf","file_data":"JVBERi0="},"#
                + #"{"type":"input_image","file_id":"f"}]},{"role":"assistant","content":"I cannot."},{"role":"user","content":"Hi"}]}"#,
            ["input[].content[]"],
            [
                "user: [A file that the model cannot read: r.pdf]\n[A file that the model cannot read]",
                "assistant: I cannot.", "user: Hi",
            ]
        ),
        // chatterd names the members of parts that it does not know.
        (
            .chat,
            #"{"messages":[{"role":"user","content":[{"type":"text","text":"a","origin":"x"},{"type":"image_url","mood":1,"#
                + #""image_url":{"url":"data:;base64,AAAA","size":1}}]}]}"#,
            ["messages[].content[].origin", "messages[].content[].mood", "messages[].content[].image_url.size"],
            [#"user: a {"images":["AAAA"]}"#]
        ),
        (
            .messages,
            #"{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","mood":1,"source":{"type":"base64","#
                + #""media_type":"image/png","data":"AAAA","size":1}}]}]}"#,
            ["messages[].content[].mood", "messages[].content[].source.size"],
            [#"user:  {"images":["AAAA"]}"#, #"options={"num_predict":1}"#]
        ),
        // Clients send back the parts of an answer, which have empty lists.
        (
            .responses,
            #"{"input":[{"role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]},"#
                + #"{"role":"user","content":[{"type":"input_text","text":"b","origin":"x"},"#
                + #"{"type":"output_text","text":"c","annotations":[{}]}]}]}"#,
            ["input[].content[].origin", "input[].content[].annotations"], ["assistant: a", "user: b\nc"]
        ),
        // Codex.
        (
            .responses,
            #"{"input":"a","client_metadata":{"a":"b"},"include":["reasoning.encrypted_content","file_search_call.results"],"#
                + #""tools":[{"type":"custom","name":"apply_patch","description":"d","format":{"type":"grammar","syntax":"lark","#
                + #""definition":"start: X"}},{"type":"namespace","name":"n","tools":[]},{"type":"web_search"}],"truncation":"disabled"}"#,
            ["client_metadata", "tools[]", "include[]"],
            [
                "user: a",
                #"tools=[{"type":"function","function":{"name":"apply_patch","description":"d\n\n"#
                    + #"The text `input` must fit this grammar (lark):\nstart: X","#
                    + #""parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}]"#,
                "truncate=false",
            ]
        ),
        (
            .responses,
            #"{"input":[{"role":"user","content":"a","author":"x"},{"type":"web_search_call","id":"w"},"#
                + #"{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** \"Begin\""},"#
                + #"{"type":"custom_tool_call_output","call_id":"c","output":"ok"}]}"#,
            ["input[].author", "input[]"],
            [
                "user: a",
                #"assistant:  {"tool_calls":[{"id":"c","function":{"name":"apply_patch","arguments":{"input":"*** \"Begin\""}}}]}"#,
                #"tool: ok {"tool_name":"apply_patch","tool_call_id":"c"}"#,
            ]
        ),
    ]

    @Test func ignoredMembersAreNamedAndTheRestIsRead() throws {
        for row in Self.rows {
            let asked = try row.path.translator.request(Array(row.body.utf8), .lenient)
            #expect(asked.ignored.paths == row.ignored, "\(row.body)")
            #expect(try summary(row.body, by: row.path.translator) == row.request, "\(row.body)")
        }
    }

    @Test func strictDoorRefusesWhatALenientOneIgnores() {
        for row in Self.rows {
            var fault: RelayError?
            do throws(RelayError) {
                _ = try row.path.translator.request(Array(row.body.utf8), .strict)
            } catch {
                fault = error
            }
            #expect((fault == nil) == row.ignored.isEmpty, "\(row.body)")
            #expect(fault.map { $0.code == .invalidRequest && $0.parameter != nil } ?? true, "\(row.body)")
        }
    }

    @Test(arguments: [
        (
            Path.chat,
            #"{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}"#,
            "messages[1].content[0].type"
        ),
        (
            .messages,
            #"{"max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"document","#
                + #""source":{"type":"url","url":"https://a.example/r.pdf"}}]}]}"#,
            "messages[1].content[0].source.type"
        ),
        (
            .responses,
            #"{"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},"#
                + #"{"type":"function_call_output","call_id":"c","output":[{"type":"input_file","file_id":"f"}]}]}"#,
            "input[2].output[0].type"
        ),
    ])
    func fileBehindTheNewestMessageIsRefused(_ path: Path, _ body: String, _ parameter: String) {
        var fault: RelayError?
        do throws(RelayError) {
            _ = try path.translator.request(Array(body.utf8), .lenient)
        } catch {
            fault = error
        }
        #expect(fault?.parameter == parameter)
    }

    @Test func keptListOfIgnoredMembersReachesNoModelServer() throws {
        var asked = try OpenAIChat().request(
            Array(#"{"messages":[{"role":"user","content":"a","mood":1,"mood\u00e4,\n":2}]}"#.utf8), .lenient)
        _ = asked.keep(createdAt: 0)
        let list = try #require(asked.chat.passThrough.ignored())
        #expect(String(decoding: list, as: UTF8.self) == #"["messages[].mood","messages[].mood????"]"#)
        #expect(asked.ignored.text == "messages[].mood, messages[].mood????")
        #expect(asked.chat.passThrough.withoutKept.isEmpty)
    }

    @Test func listOfIgnoredMembersIsBounded() throws {
        let long = (0..<200).map { "\"\(String(repeating: "x", count: 90 + $0 % 9))\($0)\":1" }
        let members = long + (0..<40).map { "\"m\($0)\":1" }
        let messages = members.map { #"{"role":"user","content":"a",\#($0)}"# }.joined(separator: ",")
        let asked = try OpenAIChat().request(Array("{\"messages\":[\(messages)]}".utf8), .lenient)
        let text = try #require(asked.ignored.text)
        #expect(text.hasSuffix(", ...") && text.utf8.count < 1_200)
        #expect(asked.ignored.paths.count == IgnoredMembers.maximumPaths)
        #expect(asked.ignored.paths.allSatisfy { $0.utf8.count <= IgnoredMembers.maximumPathLength })
    }

    @Test(arguments: [
        (
            "x-anthropic-billing-header: cc_version=2; cch=36ee5;\nHi cch=1;",
            "x-anthropic-billing-header: cc_version=2; cch=00000;\nHi cch=1;"
        ),
        ("x-anthropic-billing-header: cch=ab", "x-anthropic-billing-header: cch=00"),
        ("x-anthropic-billing-header: cc_version=2;\n cch=1;", "x-anthropic-billing-header: cc_version=2;\n cch=1;"),
        ("Say cch=36ee5;", "Say cch=36ee5;"), ("", ""), ("x-anthropic-billing-header:", "x-anthropic-billing-header:"),
    ])
    func onlyTheValueOfTheBillingLineIsReplaced(_ text: String, _ stable: String) {
        #expect(BillingLine.stable(text) == stable)
    }

    @Test func strictDoorPassesTheBillingLineAsItIs() throws {
        let body =
            #"{"max_tokens":1,"system":"x-anthropic-billing-header: cch=36ee5;","#
            + #""messages":[{"role":"user","content":"a"}]}"#
        let asked = try AnthropicMessages().request(Array(body.utf8), .strict)
        #expect(asked.chat.messages.first?.content == "x-anthropic-billing-header: cch=36ee5;")
    }
}
