import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// The events of calls of tools of the server, and calls that wait for an approval.
@Suite(.timeLimit(.minutes(30))) struct ToolApprovalTests {
    private static let echo = #"{"name":"echo_input","description":"Echo","command":["/bin/cat"]}"#
    private static let asking =
        #"{"name":"echo_input","description":"Echo","command":["/bin/cat"],"approve":"always"}"#

    private static func upstream() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            request.number == 0
                ? .lines([ModelLine.token("Look. ")] + ModelLine.toolCalls([("echo_input", #"{"x":"é"}"#)]))
                : .answer(["Done."])
        }
    }

    private static func onStage(
        _ tool: String, _ body: @escaping @Sendable (Stage, ScriptedUpstream) throws -> Void
    ) async throws {
        let upstream = try upstream()
        try await ChatterdServerTestSupport.onStage(upstream: upstream.url, environment: [.tools: "[\(tool)]"]) {
            try body($0, upstream)
        }
    }

    /// The state and the result in events of steps.
    private static func steps(_ events: [ServerEvent]) -> [String] {
        events.filter { $0.name == "step" }.map { event in
            let data = event.data ?? ""
            #expect(
                event.id == nil && data.hasPrefix(#"{"round":0,"index":0,"#) && data.contains(#""name":"echo_input""#))
            return String(data.split(separator: #""state":"#).last ?? "")
        }
    }

    private static func answer(
        _ stage: Stage, _ location: String, _ body: String = #"{"round":0,"index":0,"approve":true}"#
    ) throws -> HTTPExchange {
        try RawClient.post(port: stage.port, "\(location)/approvals", json: body)
    }

    /// Reads until the call waits for an approval.
    private static func readUntilAsked(_ client: RawClient) throws {
        while try client.nextDataEvent().data?.contains(#""state":"asked""#) != true {}
    }

    @Test func clientThatAsksGetsEventsOfSteps() async throws {
        try await Self.onStage(Self.echo) { stage, _ in
            let answer = try RawClient.post(
                port: stage.port, "/llmtools", json: String(chatBody("app", "Hi").dropLast()) + #","step_events":true}"#
            )
            #expect(Self.steps(answer.events) == [#""running"}"#, #""done","result":"{\"x\":\"é\"}"}"#])
            let others = answer.events.filter { $0.name != "step" }
            #expect(others.map(\.text).joined() == "Look. Done." && others.last?.isLast == true)
            let location = try #require(answer["Location"])
            let again = try stage.send("GET", location, fields: [("Step-Events", "1")])
            #expect(Self.steps(again.events) == [#""done","result":"{\"x\":\"é\"}"}"#])
            let rest = again.events.filter { $0.name != "step" }.map { [$0.id, $0.data] }
            let plain = try stage.read(location)
            #expect(rest == plain.events.map { [$0.id, $0.data] })
            #expect(!plain.text.contains("echo_input"))
            #expect(try stage.send("GET", location, fields: [("Step-Events", "yes")]).status == 422)
        }
    }

    @Test func clientThatDoesNotAskGetsNoEventOfSteps() async throws {
        try await Self.onStage(Self.echo) { stage, _ in
            let answer = try RawClient.post(port: stage.port, "/llmtools", json: chatBody("app", "Hi"))
            #expect(!answer.text.contains("event:") && !answer.text.contains("echo_input"))
        }
    }

    @Test func callRunsAfterADeviceHasApprovedItOnAnyProcess() async throws {
        try await Self.onStage(Self.asking) { stage, upstream in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (client, location) = try stage.begin("app", "Hi", adding: #","step_events":true"#, at: "/llmtools")
            let reader = try RawClient(port: other.port)
            reader.request("GET", location, fields: [("Step-Events", "1")])
            #expect(try reader.readHead(of: "GET").status == 200)
            for client in [client, reader] {
                try Self.readUntilAsked(client)
            }
            let described = try other.describe(location).json
            let asked = try #require((described["approvals"] as? [[String: Any]])?.first)
            #expect(asked["round"] as? Int == 0 && asked["index"] as? Int == 0 && asked["state"] as? String == "asked")
            #expect((asked["arguments"] as? [String: Any])?["x"] as? String == "é")
            let list = try other.send("GET", "/conversations/app?appID=app").json
            let steps = try #require((list["messages"] as? [[String: Any]])?.last?["steps"] as? [[String: Any]])
            #expect(steps.last?["state"] as? String == "asked")
            // None of these is an answer.
            for body in [
                "", "{}", "[]", #"{"round":0,"index":0}"#, #"{"round":0,"index":0,"approve":1}"#,
                #"{"round":0,"index":-1,"approve":true}"#, #"{"round":0,"index":0,"approve":true,"x":1}"#,
                #"{"round":0,"index":0,"approve":null}"#, #"{"round":"0","index":0,"approve":true}"#,
            ] {
                #expect(try Self.answer(other, location, body).status == 422, "\(body)")
            }
            let wrong = try Self.answer(other, location, #"{"round":0,"index":1,"approve":true}"#)
            #expect(wrong.status == 409 && wrong.json["code"] as? String == "call_not_asked")
            let unknown = "/replies/00000000-0000-4000-8000-000000000000"
            #expect(try Self.answer(other, unknown).status == 404)
            let foreign = try RawClient.post(
                port: other.port, "\(location)/approvals?appID=other", json: #"{"round":0,"index":0,"approve":true}"#)
            #expect(foreign.status == 404 && upstream.requests.count == 1)
            #expect(try Self.answer(other, location).status == 200)
            for client in [client, reader] {
                let events = client.readEvents().filter { $0.data != nil }
                #expect(Self.steps(events).last == #""done","result":"{\"x\":\"é\"}"}"#)
                #expect(events.last?.isLast == true)
            }
            // The same answer may come again, another one not.
            #expect(try Self.answer(stage, location).status == 200)
            let denial = try Self.answer(stage, location, #"{"round":0,"index":0,"approve":false}"#)
            #expect(denial.status == 409)
            #expect(try stage.describe(location).json["approvals"] == nil)
        }
    }

    @Test func modelLearnsOfARefusal() async throws {
        try await Self.onStage(Self.asking) { stage, upstream in
            let (client, location) = try stage.begin("app", "Hi", adding: #","step_events":true"#, at: "/llmtools")
            try Self.readUntilAsked(client)
            #expect(try Self.answer(stage, location, #"{"round":0,"index":0,"approve":false}"#).status == 200)
            let events = client.readEvents().filter { $0.data != nil }
            #expect(Self.steps(events) == [#""refused","result":"The person has refused this call."}"#])
            let messages = upstream.requests.last?.json["messages"] as? [[String: Any]]
            #expect(messages?.last?["content"] as? String == "The person has refused this call.")
        }
    }

    @Test func stoppedReplyTakesNoApproval() async throws {
        try await Self.onStage(Self.asking) { stage, upstream in
            let (client, location) = try stage.begin("app", "Hi", adding: #","step_events":true"#, at: "/llmtools")
            try Self.readUntilAsked(client)
            #expect(try stage.stop(location).json["state"] as? String == "cancelled")
            #expect(try Self.answer(stage, location).status == 409)
            #expect(Self.steps(client.readEvents().filter { $0.data != nil }).last?.hasPrefix(#""refused""#) == true)
            #expect(upstream.requests.count == 1)
        }
    }

    /// The process of the reply is gone before the answer or after it. Another one waits for it, or finds it.
    @Test(arguments: [true, false]) func waitSurvivesItsProcess(isAnsweredBefore: Bool) async throws {
        try await Self.onStage(Self.asking) { stage, upstream in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (client, location) = try stage.begin("app", "Hi", adding: #","step_events":true"#, at: "/llmtools")
            try Self.readUntilAsked(client)
            // As if its process were dead, before it can learn of the answer.
            let isApproved = isAnsweredBefore ? ", approvals = '0.0=yes'" : ""
            try stage.cluster.query(
                "UPDATE chatts SET holder = '00000000-0000-0000-0000-000000000000'\(isApproved) WHERE state = 'streaming'",
                database: stage.database)
            let reader = try RawClient(port: other.port)
            reader.request("GET", location, fields: [("Step-Events", "1")])
            #expect(try reader.readHead(of: "GET").status == 200)
            if !isAnsweredBefore {
                try Self.readUntilAsked(reader)
                #expect(upstream.requests.count == 1)
                #expect(try Self.answer(stage, location).status == 200)
            }
            let events = reader.readEvents().filter { $0.data != nil }
            #expect(Self.steps(events).last == #""done","result":"{\"x\":\"é\"}"}"# && events.last?.isLast == true)
            #expect(upstream.requests.count == 2)
        }
    }
}
