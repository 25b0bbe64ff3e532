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
            for count in [17, 300] {
                let pairs = (0..<count).map { "\"\($0)\":\"a\"" }.joined(separator: ",")
                let tooMany = try create(stage, "{\"metadata\":{\(pairs)}}")
                #expect(tooMany.status == 400 && tooMany.text.contains("more than 16 members"), "\(tooMany.text)")
            }
            for pairs in ["\"a\":\"\(long)\"", "\"\(long.prefix(65))\":\"a\"", many, "\"title\":\"\(long)\""] {
                #expect(try create(stage, "{\"metadata\":{\(pairs)}}").status == 400, "\(pairs)")
            }
            #expect(try create(stage, #"{"items":[{"type":"item_reference","id":"x"}]}"#).status == 400)
            let anonymous = try RawClient.post(port: stage.port, Self.path, json: "{}")
            #expect(anonymous.status == 400, "\(anonymous.text)")
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
            let file = try stage.send("GET", "/conversations/\(id)/export?appID=shop")
            let imported = try RawClient.post(
                port: stage.port, "/conversations/again/import?appID=shop", json: file.text)
            #expect(imported.status == 201, "\(imported.text)")
            let again = try stage.send("GET", "\(Self.path)/again", fields: Self.app)
            #expect(again.json["metadata"] as? [String: String] == pairs, "\(again.text)")
            let changed = try post(stage, "\(Self.path)/\(id)", #"{"metadata":{"color":"red","none":null}}"#)
            #expect(changed.json["metadata"] as? [String: String] == ["color": "red"], "\(changed.text)")
            #expect(try stage.send("GET", "\(Self.path)/\(id)", fields: Self.app).text == changed.text)
            let cleared = try post(stage, "\(Self.path)/\(id)", #"{"metadata":{}}"#)
            #expect((cleared.json["metadata"] as? [String: Any])?.isEmpty == true, "\(cleared.text)")
        }
    }

    // MARK: - Items

    private func add(_ stage: Stage, _ id: String, _ items: String) throws -> HTTPExchange {
        try post(stage, "\(Self.path)/\(id)/items", "{\"items\":[\(items)]}")
    }

    private func list(_ stage: Stage, _ id: String) throws -> HTTPExchange {
        try stage.send("GET", "\(Self.path)/\(id)/items?order=asc&limit=100", fields: Self.app)
    }

    private func removeItem(_ stage: Stage, _ id: String, _ item: String) throws -> HTTPExchange {
        try stage.send("DELETE", "\(Self.path)/\(id)/items/\(item)", fields: Self.app)
    }

    private func ids(_ list: HTTPExchange) -> [String] {
        (list.json["data"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    }

    private func code(_ error: HTTPExchange) -> String? {
        (error.json["error"] as? [String: Any])?["code"] as? String
    }

    @Test func addedItemsAreListedFollowedAndDeletedFromTheEnd() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        let schemas = try SpecificationSchemas.openResponses()
        try await onStage(upstream: upstream.url) { stage in
            let id = try #require(try create(stage, #"{"items":[]}"#).json["id"] as? String)
            let first = try add(
                stage, id,
                #"{"role":"user","content":"Weather?"},{"type":"reasoning","summary":[],"#
                    + #""content":[{"type":"reasoning_text","text":"hm"}]},"#
                    + #"{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},"#
                    + #"{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"}"#)
            #expect(first.json["object"] as? String == "list" && first.json["has_more"] as? Bool == false)
            let second = try add(
                stage, id,
                #"{"type":"function_call_output","call_id":"c1","output":"rain"},"#
                    + #"{"type":"function_call_output","call_id":"c2","output":"sun"},"#
                    + #"{"role":"assistant","content":[{"type":"output_text","text":"Both.","annotations":[]}]}"#)
            let added = ids(first) + ids(second)
            #expect(added.count == 7 && Set(added).count == 7, "\(first.text) \(second.text)")
            let listed = try list(stage, id)
            #expect(ids(listed) == added)
            for item in try #require(listed.json["data"] as? [[String: Any]]) {
                let json = String(decoding: try JSONSerialization.data(withJSONObject: item), as: UTF8.self)
                #expect(schemas.problems(of: json, as: "ItemField").isEmpty, "\(json)")
            }
            let answer = try post(
                stage, ResponseTests.path, #"{"model":"tiny","input":"And?","conversation":"\#(id)"}"#)
            #expect(
                upstream.requests.last?.messages == [
                    ["user", "Weather?"], ["assistant", ""], ["tool", "rain"], ["tool", "sun"],
                    ["assistant", "Both."], ["user", "And?"],
                ], "\(answer.text)")
            // The last items belong to the response.
            let all = ids(try list(stage, id))
            #expect(all.count == 9 && Array(all.prefix(7)) == added)
            let refused = try removeItem(stage, id, all.last ?? "")
            #expect(refused.status == 409 && refused.text.contains("/v1/responses/:id"), "\(refused.text)")
            #expect(try removeItem(stage, id, added[6]).status == 409)
            let response = try #require(answer.json["id"] as? String)
            #expect(try stage.send("DELETE", "\(ResponseTests.path)/\(response)", fields: Self.app).status == 200)
            #expect(try removeItem(stage, id, added[2]).status == 409)
            for count in (0..<7).reversed() {
                let removed = try removeItem(stage, id, added[count])
                #expect(removed.status == 200 && removed.json["id"] as? String == id, "\(removed.text)")
                #expect(try ids(list(stage, id)) == Array(added.prefix(count)))
            }
            // The number of a row comes again, and its id does not.
            #expect(try removeItem(stage, id, added[0]).status == 404)
            #expect(try ids(add(stage, id, #"{"role":"user","content":"Hi"}"#)).contains(added[0]) == false)
        }
    }

    @Test func itemsOfOthersAndFaultyItemsChangeNothing() async throws {
        try await onStage(environment: [.conversationLimit: "16KiB"]) { stage in
            let id = try #require(try create(stage, "").json["id"] as? String)
            let other = try #require(try create(stage, "").json["id"] as? String)
            let kept = ids(try add(stage, id, #"{"role":"user","content":"secret"}"#))
            let item = try #require(kept.first)
            #expect(try removeItem(stage, other, item).status == 404)
            let path = "\(Self.path)/\(id)/items"
            for method in ["GET", "DELETE"] {
                let foreign = try stage.send(method, "\(path)/\(item)", fields: [("X-App-ID", "other")])
                #expect(foreign.status == 404 && !foreign.text.contains("secret"), "\(foreign.text)")
            }
            let foreign = try RawClient.post(
                port: stage.port, path, json: #"{"items":[{"role":"user","content":"a"}]}"#,
                fields: [("X-App-ID", "other")])
            #expect(foreign.status == 404 && code(foreign) == "conversation_not_found", "\(foreign.text)")
            let long = #"{"role":"user","content":"\#(String(repeating: "x", count: 17_000))"}"#
            for body in [
                "", "[]", "{}", #"{"items":[]}"#, #"{"items":"Hi"}"#, #"{"items":[7]}"#,
                #"{"items":[{"role":"user"}]}"#,
                #"{"items":[{"type":"item_reference","id":"\#(item)"}]}"#,
                #"{"items":[{"role":"user","content":"a"},{"type":"computer_call"}]}"#,
                #"{"items":[{"role":"user","content":"a"}],"mode":1}"#,
                #"{"items":[{"role":"user","content":"a"},\#(long)]}"#,
            ] {
                #expect(try post(stage, path, body).status == 400, "\(body.prefix(100))")
            }
            for unknown in ["msg_", "msg_1", "rs_\(item.dropFirst(4))", "fc_\(item.dropFirst(4))_0"] {
                #expect(try removeItem(stage, id, unknown).status == 404, "\(unknown)")
            }
            #expect(try ids(list(stage, id)) == kept)
        }
    }

    @Test func itemsAreAddedWhenTheResponseHasEnded() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "One")
        try await onStage(upstream: upstream.url) { stage in
            let id = try #require(try create(stage, "").json["id"] as? String)
            let running = try post(
                stage, ResponseTests.path,
                #"{"model":"tiny","input":"Hi","conversation":"\#(id)","background":true}"#)
            let response = try #require(running.json["id"] as? String)
            let item = #"{"role":"user","content":"More"}"#
            let busy = try add(stage, id, item)
            #expect(busy.status == 409 && code(busy) == "conversation_busy", "\(busy.text)")
            _ = try post(stage, "\(ResponseTests.path)/\(response)/cancel", "")
            // The response is in the list if it had a text before it was stopped.
            let added = try add(stage, id, item)
            #expect(added.status == 200)
            #expect(try ids(list(stage, id)).contains(try #require(ids(added).first)))
        }
    }

    @Test func itemsAreAddedAfterTheReplyOfADeadProcess() async throws {
        try await onStage { stage in
            let id = try #require(try create(stage, "").json["id"] as? String)
            _ = try stage.cluster.query(
                """
                INSERT INTO chatts (appid, seq, turn, name, message, state, id, model, attempt, holder, floor) VALUES
                    (E'shop\\x1f\\x1f\(id)', 1, 2, 'user', 'Hi', 'prompt', gen_random_uuid(), NULL, NULL, NULL, 0),
                    (E'shop\\x1f\\x1f\(id)', 2, 2, 'assistant', '', 'streaming', gen_random_uuid(), 'tiny', 1,
                        '00000000-0000-0000-0000-000000000000', 0)
                """, database: stage.database)
            let added = try add(stage, id, #"{"role":"user","content":"More"}"#)
            #expect(added.status == 200, "\(added.text)")
            #expect(try ids(list(stage, id)) == ids(added))
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
