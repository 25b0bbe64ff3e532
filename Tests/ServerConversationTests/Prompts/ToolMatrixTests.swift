import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// Each way in which a call of a tool of the server can go, with each kind of model server.
@Suite(.timeLimit(.minutes(30))) struct ToolMatrixTests {
    /// A call as a model makes it. The arguments may be no JSON.
    struct Call: Sendable {
        let name: String
        var arguments = "{}"
        var id = "call_1"
    }

    /// The calls of an answer, and how the results begin that the model gets.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let calls: [Call]
        let results: [String]

        init(_ description: String, _ calls: Call..., results: String...) {
            testDescription = description
            self.calls = calls
            self.results = results
        }
    }

    private static let object = #""parameters":{"type":"object"}"#

    private static func program(_ name: String, _ script: String, _ more: String = "") -> String {
        #"{"name":"\#(name)","description":"\#(name)",\#(object),"command":["/bin/sh","-c",\#(jsonString(script))]\#(more)}"#
    }

    private static let tools = [
        program("say", "cat"), program("fail", "echo broken >&2; exit 3"), program("die", "kill -9 $$"),
        program("hang", "sleep 3600", #","timeout":"300ms""#),
        program("flood", "head -c 10000000 /dev/zero | tr '\\\\0' x"),
        program("one", "echo 1", #","parallel":true"#), program("two", "echo 2", #","parallel":true"#),
        program("binary", "printf '\\377\\000'"),
        #"{"name":"strict","description":"S","command":["/bin/cat"],"parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#,
    ]

    private static let nested =
        #"{"a":{"b":[1,{"c":9007199254740993,"d":-0.10,"e":1e300}],"f":"é\"\\\n🐣"},"g":[],"h":null,"i":123456789012345678901234567890}"#

    static let cases = [
        Case("a result", Call(name: "say", arguments: #"{"x":1}"#), results: #"{"x":1}"#),
        Case("nested values and large numbers", Call(name: "say", arguments: nested), results: nested),
        Case("a failure", Call(name: "fail"), results: "Error: the program ended with 3: broken"),
        Case("a program that dies", Call(name: "die"), results: "Error: signal 9 ended the program"),
        Case("a program that hangs", Call(name: "hang"), results: "Error: the program has not ended within 0.3 s"),
        Case("10 MB", Call(name: "flood"), results: "Error: the output has more than 65536 bytes"),
        Case("bytes that are no text", Call(name: "binary"), results: "\u{FFFD}"),
        Case("an unknown name", Call(name: "nothing"), results: "Error: there is no tool of this name"),
        Case(
            "arguments of another type", Call(name: "strict", arguments: #"{"n":"x"}"#),
            results: "Error: the arguments do not fit"),
        Case("missing arguments", Call(name: "strict"), results: "Error: the arguments do not fit"),
        Case(
            "arguments that are no JSON", Call(name: "say", arguments: "{x: 1}"),
            results: "Error: the arguments are not a JSON object"),
        Case(
            "arguments that are a list", Call(name: "say", arguments: "[1]"),
            results: "Error: the arguments are not a JSON object"),
        Case("together", Call(name: "one"), Call(name: "two", id: "call_2"), results: "1", "2"),
        Case(
            "one id twice", Call(name: "say", arguments: #"{"x":1}"#), Call(name: "say", arguments: #"{"x":2}"#),
            results: #"{"x":1}"#, #"{"x":2}"#),
        Case(
            "one of three fails", Call(name: "one"), Call(name: "fail", id: "call_2"),
            Call(name: "two", id: "call_3"), results: "1", "Error: ", "2"),
    ]

    enum Kind: String, CaseIterable, Sendable {
        case ollama, openai, llamastack

        /// The answer of a model server with calls.
        func answer(_ calls: [Call]) -> [UpstreamStep] {
            switch self {
            case .ollama:
                let list = calls.map { call in
                    // An object that is no JSON would make the whole line none.
                    let isObject = (try? JSONSerialization.jsonObject(with: Data(call.arguments.utf8))) is [String: Any]
                    let arguments = isObject ? call.arguments : jsonString(call.arguments)
                    return #"{"id":"\#(call.id)","function":{"name":"\#(call.name)","arguments":\#(arguments)}}"#
                }
                let message = #""role":"assistant","content":"","tool_calls":[\#(list.joined(separator: ","))]"#
                let line = #"{"model":"tiny","created_at":"\#(ModelLine.time)","message":{\#(message)},"done":false}"#
                return .lines([line + "\n", ModelLine.done()])
            case .openai:
                let list = calls.enumerated().map { index, call in
                    let function = #"{"name":"\#(call.name)","arguments":\#(jsonString(call.arguments))}"#
                    return #"{"index":\#(index),"id":"\#(call.id)","type":"function","function":\#(function)}"#
                }
                let delta = #"{"role":"assistant","tool_calls":[\#(list.joined(separator: ","))]}"#
                return events(
                    #"{"choices":[{"index":0,"delta":\#(delta)}]}"#,
                    #"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#, "[DONE]")
            case .llamastack:
                let list = calls.map { call in
                    let text = jsonString(call.arguments)
                    let members = #""call_id":"\#(call.id)","tool_name":"\#(call.name)","arguments_json":\#(text)"#
                    let delta = #"{"type":"tool_call","tool_call":{\#(members)},"parse_status":"succeeded"}"#
                    return #"{"event":{"event_type":"progress","delta":\#(delta),"stop_reason":null}}"#
                }
                return events(list + [end])
            }
        }

        /// An answer with a text.
        func answer(_ text: String) -> [UpstreamStep] {
            switch self {
            case .ollama: .answer([text])
            case .openai:
                events(
                    #"{"choices":[{"index":0,"delta":{"role":"assistant","content":"\#(text)"}}]}"#,
                    #"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, "[DONE]")
            case .llamastack:
                events(
                    #"{"event":{"event_type":"progress","delta":{"type":"text","text":"\#(text)"},"stop_reason":null}}"#,
                    end)
            }
        }

        private var end: String {
            #"{"event":{"event_type":"complete","delta":{"type":"text","text":""},"stop_reason":"end_of_turn"}}"#
        }

        private func events(_ data: String...) -> [UpstreamStep] { events(data) }

        private func events(_ data: [String]) -> [UpstreamStep] {
            .plain(200, data.map { "data: \($0)\n\n" }.joined(), type: "text/event-stream")
        }
    }

    @Test(arguments: Kind.allCases, cases) func modelReadsWhatHasHappened(kind: Kind, row: Case) async throws {
        let upstream = try ScriptedUpstream { $0.number == 0 ? kind.answer(row.calls) : kind.answer("Done.") }
        let server = #"[{"name":"s","kind":"\#(kind.rawValue)","url":"\#(upstream.url)","models":["tiny"]}]"#
        let settings: [Setting: String] = [.upstreams: server, .tools: "[\(Self.tools.joined(separator: ","))]"]
        try await onStage(upstream: upstream.url, environment: settings) { stage in
            let body = #"{"appID":"app","model":"tiny","messages":[{"role":"user","content":"Hello"}]}"#
            let transcript = Transcript(try RawClient.post(port: stage.port, "/llmtools", json: body))
            transcript.check()
            #expect(transcript.text == "Done.")
            #expect(upstream.requests.count == 2)
            let messages = upstream.requests.last?.json["messages"] as? [[String: Any]] ?? []
            let results = messages.filter { $0["role"] as? String == "tool" }
            let texts = results.map { $0["content"] as? String ?? "?" }
            #expect(texts.count == row.results.count)
            for (text, expected) in zip(texts, row.results) {
                #expect(text.hasPrefix(expected), "\(text.prefix(200))")
            }
            // Each result names its call.
            let member = ["ollama": "tool_call_id", "openai": "tool_call_id", "llamastack": "call_id"][kind.rawValue]!
            let calls = messages.first { $0["tool_calls"] != nil }?["tool_calls"] as? [[String: Any]] ?? []
            let ids = calls.map { ($0["id"] ?? $0["call_id"]) as? String ?? "?" }
            #expect(calls.count == row.calls.count && results.map { $0[member] as? String } == ids)
        }
    }
}
