import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// `POST /llmtools` with tools of the server.
@Suite(.timeLimit(.minutes(30))) struct ServerToolTests {
    private static let echo = #"{"name":"echo_input","description":"Echo","command":["/bin/cat"]}"#

    private static func environment(_ tools: String, _ more: [Setting: String] = [:]) -> [Setting: String] {
        [.tools: "[\(tools)]"].merging(more) { $1 }
    }

    private static func weather(_ server: ScriptedUpstream) -> String {
        let place = #"{"type":"object","properties":{"latitude":{"type":"string"},"longitude":{"type":"string"}}}"#
        let url = "\(server.url)/forecast?latitude={latitude}&longitude={longitude}"
        return #"{"name":"get_weather","description":"Weather","parameters":\#(place),"url":"\#(url)","#
            + #""allow_private":true,"pointer":"/current/temperature_2m","idempotent":true}"#
    }

    private static func post(
        _ stage: Stage, _ text: String = "Hello", tools: String? = nil, path: String = "/llmtools",
        adding more: String = ""
    ) throws -> HTTPExchange {
        let member = tools.map { ",\"tools\":\($0)" } ?? ""
        let message = #"{"role":"user","content":\#(jsonString(text))}"#
        return try RawClient.post(
            port: stage.port, path, json: #"{"appID":"app","model":"tiny","messages":[\#(message)]\#(member)\#(more)}"#)
    }

    private static func check(_ answer: HTTPExchange, _ text: String) {
        let transcript = Transcript(answer)
        transcript.check()
        #expect(transcript.text == text)
    }

    private static func messages(_ request: UpstreamRequest?) -> [[String: Any]] {
        request?.json["messages"] as? [[String: Any]] ?? []
    }

    private static func contents(_ request: UpstreamRequest?) -> [String] {
        messages(request).map { "\($0["role"] ?? "?") \($0["content"] ?? "?")" }
    }

    private static func tools(_ request: UpstreamRequest?) -> [String] {
        (request?.json["tools"] as? [[String: Any]] ?? []).map {
            ($0["function"] as? [String: Any])?["name"] as? String ?? "?"
        }
    }

    private static func upstream(_ answers: [UpstreamStep]...) throws -> ScriptedUpstream {
        try ScriptedUpstream { answers[min($0.number, answers.count - 1)] }
    }

    /// The flow of the course: the device knows the place, the server asks for the weather, and the model answers.
    @Test func locationOfTheDeviceThenWeatherOfTheServer() async throws {
        let body = #"{"current":{"temperature_2m":53.1}}"#
        let steps: [UpstreamStep] = [.head(200, [("Content-Length", "\(body.utf8.count)")]), .send(body)]
        let service = try ScriptedUpstream(probing: { _ in steps }, { _ in steps })
        let upstream = try Self.upstream(
            .lines(ModelLine.toolCalls([("get_location", "{}")])),
            .lines(ModelLine.toolCalls([("get_weather", #"{"latitude":"42.29","longitude":"-83.71"}"#)])),
            .answer(["It is ", "53."]))
        try await onStage(upstream: upstream.url, environment: Self.environment(Self.weather(service))) { stage in
            var client = ToolClient(appID: "app", tools: [.location("latitude: 42.29, longitude: -83.71")])
            try client.ask("Weather?") { try RawClient.post(port: stage.port, "/llmtools", json: $0).body }
            #expect(client.message == "It is 53." && client.errMsg.isEmpty, "\(client.errMsg)")
            // The client sees its own call only.
            #expect(client.calls == ["get_location"] && client.requests.count == 2)
            #expect(
                upstream.requests.map { Self.tools($0) } == Array(repeating: ["get_location", "get_weather"], count: 3))
            #expect(service.probes.map(\.path) == ["/forecast?latitude=42.29&longitude=-83.71"])
            #expect(Self.contents(upstream.requests.last).suffix(2) == ["assistant ", "tool 53.1"])
            // The next prompt replays all of it.
            _ = try Self.post(stage, "Thanks")
            #expect(
                Self.contents(upstream.requests.last) == [
                    "user Weather?", "assistant ", "tool latitude: 42.29, longitude: -83.71", "assistant ", "tool 53.1",
                    "assistant It is 53.", "user Thanks",
                ])
            #expect(
                try stage.rows("app").map(\.role) == ["user", "assistant", "tool", "assistant", "user", "assistant"])
        }
    }

    @Test func stepsAreInTheExportAndInACopyOfIt() async throws {
        let upstream = try Self.upstream(
            .lines([ModelLine.token("Let me see. ")] + ModelLine.toolCalls([("echo_input", #"{"x":"é\"\n"}"#)])),
            .answer(["Done."]))
        try await onStage(upstream: upstream.url, environment: Self.environment(Self.echo)) { stage in
            let answer = try Self.post(stage)
            Self.check(answer, "Let me see. Done.")
            #expect(!answer.text.contains("echo_input"))
            let location = try #require(answer["Location"])
            #expect(try stage.send("GET", location).text.contains("Let me see. Done."))
            let list = try stage.send("GET", "/conversations/app?appID=app").json
            let reply = try #require((list["messages"] as? [[String: Any]])?.last)
            let steps = try #require(reply["steps"] as? [[String: Any]])
            #expect(steps.map { $0["role"] as? String } == ["assistant", "tool"])
            #expect(steps[0]["content"] as? String == "Let me see. " && steps[1]["state"] as? String == "done")
            #expect(steps[1]["tool_name"] as? String == "echo_input")
            let export = try stage.send("GET", "/conversations/app/export?appID=app")
            let copy = try RawClient.post(
                port: stage.port, "/conversations/copy/import?appID=app", json: export.text,
                fields: [("Content-Type", "application/x-ndjson")])
            #expect(copy.status < 300, "\(copy.text)")
            let again = try stage.send("GET", "/conversations/copy/export?appID=app")
            #expect(again.text.components(separatedBy: #""steps":["#).count == 2, "\(again.text)")
        }
    }

    @Test func onlyPromptsToLLMToolsGetTheTools() async throws {
        let upstream = try Self.upstream(.answer(["ok"]))
        try await onStage(upstream: upstream.url, environment: Self.environment(Self.echo)) { stage in
            _ = try Self.post(stage, path: "/llmchat")
            #expect(Self.tools(upstream.requests.last).isEmpty)
            _ = try Self.post(stage)
            #expect(Self.tools(upstream.requests.last) == ["echo_input"])
        }
    }

    @Test func toolOfOtherAppsIsNotOffered() async throws {
        let others = #"{"name":"other","description":"O","command":["/bin/true"],"apps":["shop","edu.*"]}"#
        let upstream = try Self.upstream(.answer(["ok"]))
        try await onStage(upstream: upstream.url, environment: Self.environment("\(Self.echo),\(others)")) { stage in
            for (app, names) in [
                ("app", ["echo_input"]), ("shop", ["echo_input", "other"]), ("edu.umich", ["echo_input", "other"]),
                ("edu", ["echo_input"]),
            ] {
                let body = #"{"appID":"\#(app)","model":"tiny","messages":[{"role":"user","content":"x"}]}"#
                _ = try RawClient.post(port: stage.port, "/llmtools", json: body)
                #expect(Self.tools(upstream.requests.last) == names, "\(app)")
            }
        }
    }

    @Test func anotherAnswerHasTheToolsToo() async throws {
        let upstream = try Self.upstream(
            .answer(["first"]), .lines(ModelLine.toolCalls([("echo_input", #"{"n":1}"#)])), .answer(["second"]))
        try await onStage(upstream: upstream.url, environment: Self.environment(Self.echo)) { stage in
            let location = try #require(try Self.post(stage)["Location"])
            let answer = try RawClient.post(port: stage.port, "\(location)/regenerate", json: "{}")
            Self.check(answer, "second")
            #expect(Self.contents(upstream.requests.last) == ["user Hello", "assistant ", #"tool {"n":1}"#])
        }
    }

    @Test func answerWithoutStreamIsTheAnswerAfterTheTools() async throws {
        let upstream = try Self.upstream(.lines(ModelLine.toolCalls([("echo_input", "{}")])), .answer(["done"]))
        try await onStage(upstream: upstream.url, environment: Self.environment(Self.echo)) { stage in
            let answer = try Self.post(stage, adding: #","stream":false"#)
            let message = try #require(answer.json["message"] as? [String: Any])
            #expect(message["content"] as? String == "done" && message["tool_calls"] == nil)
        }
    }

    /// A process is gone while a tool runs. Another one takes the reply over, and the model learns that the outcome is unknown.
    @Test(arguments: [true, false]) func stepsSurviveTheirProcess(isIdempotent: Bool) async throws {
        let (began, release) = (Gate(), Gate())
        let body = "42"
        let service = try ScriptedUpstream { request in
            let answer: [UpstreamStep] = [.head(200, [("Content-Length", "2")]), .send(body)]
            return request.number == 0 ? [.open(began), .wait(for: release)] + answer : answer
        }
        let upstream = try Self.upstream(.lines(ModelLine.toolCalls([("count", "{}")])), .answer(["It is 42."]))
        let tool =
            #"{"name":"count","description":"C","url":"\#(service.url)/count","method":"POST","allow_private":true,"#
            + #""idempotent":\#(isIdempotent),"timeout":"10m"}"#
        try await onStage(upstream: upstream.url, environment: Self.environment(tool)) { stage in
            let other = try stage.startAnother()
            defer { #expect(throws: Never.self) { try other.stop() } }
            let (_, location) = try stage.begin("app", "Count", at: "/llmtools")
            began.wait()
            // As if its process were dead.
            try stage.cluster.query(
                "UPDATE chatts SET holder = '00000000-0000-0000-0000-000000000000' WHERE state = 'streaming'",
                database: stage.database)
            let answer = try other.send("GET", location)
            #expect(answer.events.map(\.text).joined() == "It is 42." && answer.events.last?.isLast == true)
            let keys = service.requests.compactMap { $0["Idempotency-Key"] }
            #expect(keys.count == (isIdempotent ? 2 : 1) && keys.allSatisfy { $0 == keys[0] })
            let result = try #require(Self.contents(upstream.requests.last).last)
            #expect(isIdempotent ? result == "tool 42" : result.hasPrefix("tool The outcome of this call is unknown"))
            release.open()
        }
    }
}
