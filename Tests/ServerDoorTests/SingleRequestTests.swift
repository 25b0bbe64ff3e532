import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Requests of programs that nothing follows, which are in no list of conversations.
@Suite(.timeLimit(.minutes(30))) struct SingleRequestTests {
    private static let title = "### Task: write a title for the chat."

    private func ask(_ stage: Stage, _ messages: [[String]], fields: [(String, String)] = []) throws -> HTTPExchange {
        let list = messages.map { #"{"role":"\#($0[0])","content":\#(jsonString($0[1]))}"# }.joined(separator: ",")
        let answer = try RawClient.post(
            port: stage.port, "/v1/chat/completions", json: #"{"model":"tiny","messages":[\#(list)]}"#,
            fields: [("X-App-ID", "shop")] + fields)
        #expect(answer.status == 200, "\(answer.text)")
        return answer
    }

    /// The names of the conversations of a list.
    private func list(_ stage: Stage, _ items: String = "") throws -> [String] {
        let page = try stage.send("GET", "/conversations?appID=shop\(items)").json["conversations"] as? [[String: Any]]
        return (page ?? []).compactMap { $0["conversation"] as? String }
    }

    @Test func chatIsListedFromItsSecondTurnAndATitleIsNot() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            var known = [["user", "My name is Ada."]]
            let chat = try #require(try ask(stage, known)["X-Conversation-ID"])
            #expect(try list(stage).isEmpty && list(stage, "&requests=1") == [chat])
            let title = try #require(try ask(stage, [["user", Self.title]])["X-Conversation-ID"])
            known += [["assistant", "Hello"], ["user", "What did I say?"]]
            #expect(try ask(stage, known)["X-Conversation-ID"] == chat)
            #expect(try list(stage) == [chat] && list(stage, "&requests=1") == [title])
            #expect(try list(stage, "&archived=all") == [chat] && list(stage, "&q=Task").isEmpty)
            #expect(try list(stage, "&q=Task&requests=1") == [title])
            #expect(try stage.send("GET", "/conversations?appID=shop&requests=yes").status == 422)
            // It can be read, and is removed with all others.
            #expect(try stage.send("GET", "/conversations/\(title)?appID=shop").text.contains("### Task"))
            let deleted = try stage.send("DELETE", "/conversations?appID=shop&all=1")
            #expect(deleted.json["deleted"] as? Int == 2, "\(deleted.text)")
            #expect(try list(stage, "&requests=1").isEmpty)
        }
    }

    @Test func whatAPersonDoesWithASingleRequestListsIt() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            for number in 0..<3 {
                let answer = try ask(stage, [["user", "Prompt \(number)"]])
                let name = try #require(answer["X-Conversation-ID"])
                let reply = try #require(answer["Location"])
                #expect(try list(stage, "&requests=1") == [name])
                switch number {
                case 0:
                    let client = try RawClient(port: stage.port)
                    client.request(
                        "PATCH", "/conversations/\(name)?appID=shop", fields: [("Content-Type", "application/json")],
                        body: Array(#"{"title":"T"}"#.utf8))
                    #expect(try client.readResponse().status == 200)
                case 1: Transcript(try stage.ask("shop", "More", adding: #","conversation":"\#(name)""#)).check()
                default: #expect(try stage.send("POST", "\(reply)/regenerate?appID=shop").status == 200)
                }
                #expect(try list(stage).first == name && list(stage, "&requests=1").isEmpty)
            }
        }
    }

    @Test func requestThatBringsAnAnswerIsListedAtOnce() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let history = [["user", "Hi"], ["assistant", "What the store has not."], ["user", "Go on"]]
            let name = try ask(stage, history)["X-Conversation-ID"]
            #expect(try list(stage) == [name] && list(stage, "&requests=1").isEmpty)
        }
    }

    @Test func importIntoASingleRequestListsIt() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let name = try #require(try ask(stage, [["user", "Hi"]])["X-Conversation-ID"])
            let row =
                #"{"seq":3,"kind":"message","time":"2026-11-20T17:07:20.859441Z","role":"user","content":"More"}"#
            let answer = try RawClient.post(
                port: stage.port, "/conversations/\(name)/import?appID=shop&continue=1", json: row + "\n")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try list(stage) == [name] && list(stage, "&requests=1").isEmpty)
        }
    }

    @Test func namedConversationIsListedAtOnce() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            _ = try ask(stage, [["user", "Hi"]], fields: [("X-Conversation-ID", "trip")])
            _ = try ask(stage, [["user", "Hi"]], fields: [("X-OpenWebUI-Chat-Id", "c7")])
            _ = try ask(stage, [["user", Self.title]], fields: [("X-OpenWebUI-Chat-Id", "c7")])
            #expect(try list(stage) == ["c7", "trip"] && list(stage, "&requests=1").count == 1)
        }
    }

    @Test func repeatedRequestWithAKeyStaysSingle() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let names = try (0..<2).map { _ in
                try ask(stage, [["user", "Hi"]], fields: [("Idempotency-Key", "k")])["X-Conversation-ID"]
            }
            #expect(names[0] == names[1] && upstream.requests.count == 1)
            #expect(try list(stage).isEmpty && list(stage, "&requests=1").count == 1)
        }
    }
}
