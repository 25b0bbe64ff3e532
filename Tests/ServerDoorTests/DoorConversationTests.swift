import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// `/v1/conversations`.
@Suite(.timeLimit(.minutes(30))) struct DoorConversationTests {
    private static let path = "/v1/conversations"
    private static let app = [("X-App-ID", "shop")]

    private func post(_ stage: Stage, _ path: String, _ body: String) throws -> HTTPExchange {
        try RawClient.post(port: stage.port, path, json: body, fields: Self.app)
    }

    private func create(_ stage: Stage, _ body: String) throws -> HTTPExchange { try post(stage, Self.path, body) }

    @Test(arguments: [("lenient", 200), ("strict", 400)])
    func whatIsIgnoredOfItemsIsToldOrRefused(_ policy: String, _ status: Int) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.doors: policy]) { stage in
            let made = try create(
                stage, #"{"items":[{"type":"web_search_call"},{"role":"user","content":"Hi","mood":1}]}"#)
            #expect(made.status == status, "\(made.text)")
            #expect(made["X-Ignored-Members"] == (status == 200 ? "items[], items[].mood" : nil))
        }
    }

    @Test func conversationIsCreatedContinuedAndDeleted() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        let schemas = try SpecificationSchemas.openResponses()
        try await onStage(upstream: upstream.url) { stage in
            let made = try create(
                stage, #"{"metadata":{"title":"A week"},"items":[{"role":"system","content":"Be brief."}]}"#)
            #expect(made.status == 200 && made.json["object"] as? String == "conversation", "\(made.text)")
            let id = try #require(made.json["id"] as? String)
            let answer = try post(stage, ResponseTests.path, #"{"model":"tiny","input":"Hi","conversation":"\#(id)"}"#)
            #expect(upstream.requests.last?.messages == [["system", "Be brief."], ["user", "Hi"]], "\(answer.text)")
            let list = try stage.send("GET", "\(Self.path)/\(id)/items?order=asc", fields: Self.app).json
            let items = try #require(list["data"] as? [[String: Any]])
            #expect(items.map { $0["role"] as? String } == ["system", "user", "assistant"])
            #expect(
                items.last?["id"] as? String == (answer.json["output"] as? [[String: Any]])?.first?["id"] as? String)
            for item in items {
                let id = item["id"] as? String ?? ""
                let single = try stage.send(
                    "GET", "\(Self.path)/\(made.json["id"] as? String ?? "")/items/\(id)", fields: Self.app)
                #expect(
                    single.status == 200 && NSDictionary(dictionary: single.json).isEqual(to: item), "\(single.text)")
                let json = String(decoding: try JSONSerialization.data(withJSONObject: item), as: UTF8.self)
                #expect(schemas.problems(of: json, as: "ItemField").isEmpty, "\(json)")
            }
            let shown = try stage.send("GET", "\(Self.path)/\(id)", fields: Self.app)
            #expect(shown.text == made.text)
            let changed = try post(stage, "\(Self.path)/\(id)", #"{"metadata":{"title":"Two weeks"}}"#)
            #expect((changed.json["metadata"] as? [String: Any])?["title"] as? String == "Two weeks")
            let cleared = try post(stage, "\(Self.path)/\(id)", #"{"metadata":{}}"#)
            #expect((cleared.json["metadata"] as? [String: Any])?.isEmpty == true)
            let deleted = try stage.send("DELETE", "\(Self.path)/\(id)", fields: Self.app)
            #expect(deleted.json["deleted"] as? Bool == true)
            #expect(try stage.send("GET", "\(Self.path)/\(id)", fields: Self.app).status == 404)
            #expect(try stage.send("GET", "\(Self.path)/\(id)/items", fields: Self.app).status == 404)
        }
    }

    @Test func unstorableMembersAreRefused() async throws {
        try await onStage { stage in
            let refused = try create(stage, #"{"metadata":{"color":7}}"#)
            #expect(
                refused.status == 400
                    && (refused.json["error"] as? [String: Any])?["param"] as? String == "metadata.color")
            let long = String(repeating: "x", count: 513)
            let many = (0..<17).map { "\"\($0)\":\"a\"" }.joined(separator: ",")
            for pairs in ["\"a\":\"\(long)\"", "\"\(long.prefix(65))\":\"a\"", many, "\"title\":\"\(long)\""] {
                #expect(try create(stage, "{\"metadata\":{\(pairs)}}").status == 400, "\(pairs)")
            }
            #expect(try create(stage, #"{"items":[{"type":"item_reference","id":"x"}]}"#).status == 400)
            let anonymous = try RawClient.post(port: stage.port, Self.path, json: "{}")
            #expect(anonymous.status == 400, "\(anonymous.text)")
            let id = try #require(try create(stage, "").json["id"] as? String)
            let added = try post(stage, "\(Self.path)/\(id)/items", #"{"items":[]}"#)
            #expect(added.status == 400 && added.text.contains("input of a response"), "\(added.text)")
            let removed = try stage.send("DELETE", "\(Self.path)/\(id)/items/msg_1", fields: Self.app)
            #expect(removed.status == 400 && removed.text.contains("/v1/responses/:id"), "\(removed.text)")
            #expect(try stage.send("GET", "\(Self.path)/\(id)/items/msg_1", fields: Self.app).status == 404)
        }
    }

    @Test func metadataIsKeptReplacedAndCopied() async throws {
        try await onStage { stage in
            let made = try create(stage, #"{"metadata":{"topic":"demo","title":"A week","a\"b":"é\n"}}"#)
            let pairs = ["topic": "demo", "title": "A week", "a\"b": "é\n"]
            #expect(made.json["metadata"] as? [String: String] == pairs, "\(made.text)")
            let id = try #require(made.json["id"] as? String)
            #expect(try stage.send("GET", "\(Self.path)/\(id)", fields: Self.app).text == made.text)
            let copied = try post(stage, "/conversations/\(id)/fork?appID=shop", #"{"conversation":"copy"}"#)
            #expect(copied.status == 201, "\(copied.text)")
            let copy = try stage.send("GET", "\(Self.path)/copy", fields: Self.app)
            #expect(copy.json["metadata"] as? [String: String] == pairs, "\(copy.text)")
            let changed = try post(stage, "\(Self.path)/\(id)", #"{"metadata":{"color":"red","none":null}}"#)
            #expect(changed.json["metadata"] as? [String: String] == ["color": "red"], "\(changed.text)")
            #expect(try stage.send("GET", "\(Self.path)/\(id)", fields: Self.app).text == changed.text)
            let cleared = try post(stage, "\(Self.path)/\(id)", #"{"metadata":{}}"#)
            #expect((cleared.json["metadata"] as? [String: Any])?.isEmpty == true, "\(cleared.text)")
        }
    }

    @Test func itemOfAnotherAppIsUnknown() async throws {
        try await onStage { stage in
            let items = #"{"items":[{"role":"system","content":"secret"}]}"#
            let id = try #require(try create(stage, items).json["id"] as? String)
            let list = try stage.send("GET", "\(Self.path)/\(id)/items", fields: Self.app).json["data"]
            let item = try #require((list as? [[String: Any]])?.first?["id"] as? String)
            let path = "\(Self.path)/\(id)/items/\(item)"
            #expect(try stage.send("GET", path, fields: Self.app).text.contains("secret"))
            let foreign = try stage.send("GET", path, fields: [("X-App-ID", "other")])
            #expect(foreign.status == 404 && !foreign.text.contains("secret"), "\(foreign.text)")
        }
    }
}
