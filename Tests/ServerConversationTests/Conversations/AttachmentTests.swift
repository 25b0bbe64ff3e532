import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Images through the program: stored once for an app, and sent to the model server as they came.
@Suite(.timeLimit(.minutes(30))) struct AttachmentTests {
    private static let identity = [("X-App-ID", "shop"), ("X-Conversation-ID", "trip")]
    private static let image = Data((0..<30_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }).base64EncodedString()

    private func prompt(_ text: String, _ image: String?) -> String {
        let images = image.map { #","images":["\#($0)"]"# } ?? ""
        return
            #"{"appID":"shop","conversation":"trip","model":"tiny","messages":[{"role":"user","content":"\#(text)"\#(images)}]}"#
    }

    /// A request of OpenAI's door with an image in the first message.
    private func completion(_ texts: [String]) -> String {
        var messages = texts.enumerated().map {
            #"{"role":"\#($0 % 2 == 0 ? "user" : "assistant")","content":"\#($1)"}"#
        }
        let url = #"{"type":"image_url","image_url":{"url":"data:image/png;base64,\#(Self.image)"}}"#
        messages[0] = #"{"role":"user","content":[{"type":"text","text":"\#(texts[0])"},\#(url)]}"#
        return #"{"model":"tiny","stream":false,"messages":[\#(messages.joined(separator: ","))]}"#
    }

    /// The images of each message that a model server was sent.
    private func images(_ request: UpstreamRequest?) -> [[String]] {
        let messages = request?.json["messages"] as? [[String: Any]] ?? []
        return messages.map { $0["images"] as? [String] ?? [] }
    }

    private func stored(_ stage: Stage) throws -> [[String]] {
        try stage.cluster.query(
            "SELECT app, octet_length(content) FROM chatterd_attachments ORDER BY 1, 2", database: stage.database)
    }

    @Test(arguments: ["0", "256MiB"])
    func imageIsSentWithEachPromptAfterARestart(historyCache: String) async throws {
        let upstream = try ScriptedUpstream(.answer(["seen"]))
        try await onThread {
            let environment: [Setting: String] = [.historyCache: historyCache]
            let first = try Stage(upstream: upstream.url, environment: environment)
            Transcript(try RawClient.post(port: first.port, "/llmchat", json: prompt("look", Self.image))).check()
            #expect(images(upstream.requests.last) == [[Self.image]])
            Transcript(try RawClient.post(port: first.port, "/llmchat", json: prompt("again", Self.image))).check()
            #expect(try stored(first) == [["shop", "40000"]])
            let page = try first.send("GET", "/conversations/trip?appID=shop").text
            let export = try first.send("GET", "/conversations/trip/export?appID=shop").text
            #expect(page.components(separatedBy: Self.image).count == 3)
            #expect(export.components(separatedBy: Self.image).count == 3)
            try first.stop()

            let second = try first.startAnother()
            Transcript(try RawClient.post(port: second.port, "/llmchat", json: prompt("and now?", nil))).check()
            #expect(images(upstream.requests.last) == [[Self.image], [], [Self.image], [], []])
            #expect(try second.send("DELETE", "/conversations/trip?appID=shop").status == 200)
            #expect(try stored(second).isEmpty)
            try second.stop()
        }
    }

    @Test func imageThroughADoorIsTheSameAttachment() async throws {
        let upstream = try ScriptedUpstream(.answer(["seen"]))
        try await onStage(upstream: upstream.url) { stage in
            let path = "/v1/chat/completions"
            let first = try RawClient.post(
                port: stage.port, path, json: completion(["look"]), fields: Self.identity)
            #expect(first.status == 200, "\(first.text)")
            #expect(images(upstream.requests.last) == [[Self.image]])
            // The client repeats its history, which is recognised.
            let second = try RawClient.post(
                port: stage.port, path, json: completion(["look", "seen", "more"]), fields: Self.identity)
            #expect(second.status == 200, "\(second.text)")
            #expect(images(upstream.requests.last) == [[Self.image], [], []])
            Transcript(try RawClient.post(port: stage.port, "/llmchat", json: prompt("again", Self.image))).check()
            #expect(images(upstream.requests.last) == [[Self.image], [], [], [], [Self.image]])
            #expect(try stored(stage) == [["shop", "40000"]])
            #expect(try stage.rows("shop\u{1F}\u{1F}trip").count == 6)
        }
    }

    @Test func fullAppIsToldWhatToDo() async throws {
        let upstream = try ScriptedUpstream(.answer(["seen"]))
        try await onStage(upstream: upstream.url, environment: [.attachmentsLimit: "39KiB"]) { stage in
            let refused = try RawClient.post(port: stage.port, "/llmchat", json: prompt("look", Self.image))
            #expect(refused.status == 422 && refused.json["code"] as? String == "attachments_full", "\(refused.text)")
            #expect((refused.json["error"] as? String)?.contains("CHATTERD_ATTACHMENTS_LIMIT, 39936 bytes") == true)
            let door = try RawClient.post(
                port: stage.port, "/v1/chat/completions", json: completion(["look"]), fields: Self.identity)
            let error = door.json["error"] as? [String: Any]
            #expect(
                door.status == 400 && (error?["message"] as? String)?.contains("CHATTERD_ATTACHMENTS_LIMIT") == true)
            #expect(upstream.requests.isEmpty)
            #expect(try stored(stage).isEmpty)
            Transcript(try RawClient.post(port: stage.port, "/llmchat", json: prompt("look", nil))).check()
        }
    }

    @Test func personWithoutConversationsLeavesNoImage() async throws {
        let upstream = try ScriptedUpstream(.answer(["seen"]))
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let tokens = try ["ada", "bob"].map { try stage.makeToken(key, person: $0) }
            for token in tokens {
                Transcript(try stage.call("POST", "/llmchat", prompt("look", Self.image), as: token)).check()
            }
            #expect(try stored(stage) == [["shop", "40000"]])
            for (token, left) in zip(tokens, [[["shop", "40000"]], []]) {
                #expect(try stage.call("DELETE", "/conversations?all=1", as: token).status == 200)
                #expect(try stored(stage) == left)
            }
        }
    }
}
