import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// The cases of the compliance tests of Open Responses: each answer and each event is that of the specification.
@Suite(.timeLimit(.minutes(30))) struct ResponseComplianceTests {
    private static let tools = #"""
        ,"tools":[{"type":"function","name":"get_weather","description":"Get the current weather for a location",
        "parameters":{"type":"object","properties":{"location":{"type":"string","description":"The city"}},"required":["location"]}}]
        """#
    private static let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    private static func user(_ text: String) -> String { #"{"type":"message","role":"user","content":"\#(text)"}"# }

    /// The input, and the type of an item that the output must have.
    private static let cases: [(name: String, members: String, item: String)] = [
        ("basic response", "[\(user("Say hello in exactly 3 words."))]", "message"),
        ("streaming response", "[\(user("Count from 1 to 5."))]", "message"),
        (
            "system prompt",
            #"[{"type":"message","role":"system","content":"You are a pirate."},\#(user("Say hello."))]"#, "message"
        ),
        ("tool calling", "[\(user("What's the weather like in San Francisco?"))]\(tools)", "function_call"),
        (
            "image input",
            #"""
            [{"type":"message","role":"user","content":[{"type":"input_text","text":"What do you see?"},
            {"type":"input_image","image_url":"data:image/png;base64,\#(picture)"}]}]
            """#, "message"
        ),
        (
            "multi-turn",
            #"[\#(user("My name is Alice.")),{"type":"message","role":"assistant","content":"Hello Alice!"},\#(user("My name?"))]"#,
            "message"
        ),
    ]

    /// A model that calls a tool if it has one, and answers with the number of messages and images otherwise.
    private func model() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            guard request.json["tools"] == nil else {
                let call =
                    #""tool_calls":[{"function":{"name":"get_weather","arguments":{"location":"San Francisco, CA"}}}]"#
                let line =
                    #"{"model":"tiny","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"",\#(call)},"done":false}"#
                return .lines([line + "\n", ModelLine.done()])
            }
            let messages = request.json["messages"] as? [[String: Any]] ?? []
            let images = messages.flatMap { $0["images"] as? [Any] ?? [] }
            return .answer(["\(messages.count) messages, ", "\(images.count) images"])
        }
    }

    @Test(arguments: 0..<cases.count, [false, true])
    func caseIsAnsweredAsTheSpecificationSays(_ number: Int, _ stream: Bool) async throws {
        let schemas = try SpecificationSchemas.openResponses()
        let (name, members, item) = Self.cases[number]
        let upstream = try model()
        try await onStage(upstream: upstream.url) { stage in
            let body = #"{"model":"tiny","stream":\#(stream),"input":\#(members)}"#
            let answer = try RawClient.post(port: stage.port, ResponseTests.path, json: body)
            #expect(answer.status == 200, "\(name): \(answer.text)")
            var response = answer.text
            if stream {
                #expect(answer["Content-Type"] == "text/event-stream")
                let events = answer.text.components(separatedBy: "\n\n").filter { !$0.isEmpty }
                #expect(events.last == "data: [DONE]")
                let data = events.dropLast().compactMap { event in
                    event.firstRange(of: "\ndata: ").map { String(event[$0.upperBound...]) }
                }
                #expect(data.count == events.count - 1)
                for event in data {
                    #expect(schemas.problems(ofEvent: event).isEmpty, "\(name): \(schemas.problems(ofEvent: event))")
                }
                let last = try #require(
                    try JSONSerialization.jsonObject(with: Data((data.last ?? "").utf8)) as? [String: Any])
                #expect(last["type"] as? String == "response.completed")
                response = String(
                    decoding: try JSONSerialization.data(withJSONObject: last["response"] ?? [:]), as: UTF8.self)
            }
            #expect(schemas.problems(of: response, as: "ResponseResource").isEmpty, "\(name): \(response)")
            let object = try #require(try JSONSerialization.jsonObject(with: Data(response.utf8)) as? [String: Any])
            let output = try #require(object["output"] as? [[String: Any]])
            #expect(object["status"] as? String == "completed" && output.contains { $0["type"] as? String == item })
            if name == "image input" { #expect(response.contains("1 messages, 1 images")) }
            if name == "multi-turn" { #expect(response.contains("3 messages, 0 images")) }
            if name == "system prompt" { #expect(response.contains("2 messages, 0 images")) }
        }
    }
}
