import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The times that clients get of their replies.
@Suite(.timeLimit(.minutes(30))) struct TimingTests {
    /// The names of the parts of a `Server-Timing`.
    private func parts(_ exchange: HTTPExchange) -> [String] {
        (exchange["Server-Timing"] ?? "").split(separator: ",").map {
            String($0.drop { $0 == " " }.prefix { $0 != ";" })
        }
    }

    @Test func lastEventAndReceiptHaveTheSameTimes() async throws {
        let first = try ScriptedUpstream(.error(500, "broken"))
        let second = try ScriptedUpstream.answering(["Hello"])
        let list = severalServers(UpstreamOfList("one", first), UpstreamOfList("two", second))
        try await onStage(environment: list) { stage in
            let answer = try stage.chat("app", "x")
            let last = object(Transcript(answer).lines.last ?? "")
            let location = try #require(answer["Location"])
            let document = try stage.describe(location).json
            let receipt = try #require(document["receipt"] as? [String: Any])
            #expect(last["attempts"] as? Int == 2 && last["queue_ms"] as? Int == 0)
            for name in ["ttft_ms", "queue_ms", "attempts"] {
                let time = try #require(last[name] as? Int)
                #expect(time >= 0 && receipt[name] as? Int == time)
            }
            // The head is written before a model server is asked.
            #expect(parts(answer) == ["store"])
            let whole = try stage.chat("app", "x", stream: false)
            #expect(parts(whole).first == "store" && parts(whole).suffix(2) == ["ttft", "total"])
            #expect(parts(whole).contains("retry") && whole.json["attempts"] as? Int == 2)
            #expect(parts(try stage.send("GET", "/models")) == ["total"])
        }
    }

    @Test func endWithoutAnAnswerHasNoTimeToTheFirstToken() async throws {
        let upstream = try ScriptedUpstream(.error(500, "broken"))
        try await onStage(upstream: upstream.url) { stage in
            let end = Transcript(try stage.chat("app", "x")).error
            #expect(end["ttft_ms"] == nil && end["attempts"] as? Int == 1 && end["queue_ms"] as? Int == 0)
        }
    }

    @Test func waitForASlotCounts() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("Hello", then: " world", behind: gate)
        let list = severalServers(UpstreamOfList("one", upstream, #""slots":1"#))
        try await onStage(environment: list) { stage in
            let (one, _) = try stage.begin("one", "x")
            _ = try one.nextDataEvent()
            let two = try stage.beginChat("two", "x")
            // The position in the queue.
            _ = two.nextEvent()
            gate.open()
            let end = object(two.readEvents().last { $0.data != nil }?.data ?? "")
            let queue = try #require(end["queue_ms"] as? Int)
            let first = try #require(end["ttft_ms"] as? Int)
            #expect(queue >= 0 && first >= queue && end["attempts"] as? Int == 1)
        }
    }
}
