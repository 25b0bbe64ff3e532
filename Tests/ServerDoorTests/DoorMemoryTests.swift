import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Requests of doors with an identity, which continue conversations.
@Suite(.timeLimit(.minutes(30))) struct DoorMemoryTests {
    private static let identity = [("X-App-ID", "shop"), ("X-Conversation-ID", "trip")]
    private static let completions = "/v1/chat/completions"

    /// The body of a request to a door with these messages, as role and text.
    private func body(_ messages: [[String]]) -> String {
        let list = messages.map { #"{"role":"\#($0[0])","content":\#(jsonString($0[1]))}"# }.joined(separator: ",")
        return #"{"model":"tiny","max_tokens":9,"stream":false,"messages":[\#(list)]}"#
    }

    private func ask(
        _ stage: Stage, _ path: String, _ messages: [[String]], fields: [(String, String)] = identity
    ) throws -> HTTPExchange {
        try RawClient.post(port: stage.port, path, json: body(messages), fields: fields)
    }

    /// The messages of a conversation, as role and text; only those of its present branch.
    private func messages(_ stage: Stage, _ name: String = "trip") throws -> [[String]] {
        let page = try stage.send("GET", "/conversations/\(name)?appID=shop").json["messages"] as? [[String: Any]]
        return (page ?? []).filter { $0["active"] as? Bool == true }
            .map { [$0["role"] as? String ?? "", $0["content"] as? String ?? ""] }
    }

    /// A model that answers each prompt with its number.
    private func counting() throws -> ScriptedUpstream {
        try ScriptedUpstream { request in .answer(["answer ", "\(request.number)"]) }
    }

    @Test func conversationIsContinuedThroughEveryDoor() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            var known = [["user", "native"], ["assistant", "answer 0"]]
            Transcript(try stage.ask("shop", "native", adding: #","conversation":"trip""#)).check()
            for (number, path) in ["/api/chat", Self.completions, "/v1/messages"].enumerated() {
                known.append(["user", "by \(path) \n"])
                let answer = try ask(stage, path, known)
                #expect(answer.status == 200 && answer["X-Conversation-ID"] == "trip", "\(answer.text)")
                #expect(upstream.requests.last?.messages == known)
                known.append(["assistant", "answer \(number + 1)"])
                #expect(try messages(stage) == known)
            }
            // With its history, with only what is new, and after the response before.
            let items = (known + [["user", "by items"]]).map {
                #"{"type":"message","role":"\#($0[0])","content":\#(jsonString($0[1]))}"#
            }
            var input = "\"input\":[\(items.joined(separator: ","))]"
            for (number, text) in ["by items", "by name", "by response"].enumerated() {
                let answer = try RawClient.post(
                    port: stage.port, ResponseTests.path, json: "{\"model\":\"tiny\",\(input)}", fields: Self.identity)
                known.append(["user", text])
                #expect(answer.status == 200 && upstream.requests.last?.messages == known, "\(answer.text)")
                known.append(["assistant", "answer \(number + 4)"])
                #expect(try messages(stage) == known)
                let id = answer.json["id"] as? String ?? ""
                input =
                    number == 0
                    ? #""input":"by name","conversation":"trip""#
                    : #""input":"by response","previous_response_id":"\#(id)""#
            }
            Transcript(try stage.ask("shop", "native again", adding: #","conversation":"trip""#)).check()
            #expect(upstream.requests.last?.messages == known + [["user", "native again"]])
        }
    }

    /// The prompt of a failed reply belongs to the reply that was made instead.
    @Test func regeneratedReplyIsRecognisedWithItsPrompt() async throws {
        let upstream = try ScriptedUpstream { request in
            request.number == 0 ? .error(400, "no") : .answer(["answer ", "\(request.number)"])
        }
        try await onStage(upstream: upstream.url) { stage in
            let failed = try stage.ask("shop", "one", adding: #","conversation":"trip""#)
            let location = try #require(failed["Location"])
            let again = try RawClient.post(port: stage.port, location + "/regenerate?appID=shop", json: "{}")
            #expect(again.status == 200, "\(again.text)")
            let known = [["user", "one"], ["assistant", "answer 1"]]
            _ = try ask(stage, Self.completions, known + [["user", "two"]])
            #expect(upstream.requests.last?.messages == known + [["user", "two"]])
            #expect(try messages(stage) == known + [["user", "two"], ["assistant", "answer 2"]])
        }
    }

    /// The rows of the conversation, as role, text and whether they are in the present branch.
    private func rows(_ stage: Stage) throws -> [[String]] {
        let page = try stage.send("GET", "/conversations/trip?appID=shop").json["messages"] as? [[String: Any]]
        return (page ?? []).map {
            [$0["role"] as? String ?? "", $0["content"] as? String ?? "", "\($0["active"] as? Bool ?? false)"]
        }
    }

    @Test(arguments: ["/api/chat", completions, "/v1/messages"])
    func repeatedPromptGetsAnotherAnswer(_ path: String) async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let first = [["user", "one"], ["assistant", "answer 0"], ["user", "two"]]
            _ = try ask(stage, path, [["user", "one"]])
            _ = try ask(stage, path, first)
            let again = try ask(stage, path, first)
            #expect(again.status == 200 && again["X-Conversation-ID"] == "trip", "\(again.text)")
            #expect(upstream.requests.map(\.messages) == [[["user", "one"]], first, first])
            #expect(
                try rows(stage) == [
                    ["user", "one", "true"], ["assistant", "answer 0", "true"], ["user", "two", "true"],
                    ["assistant", "answer 1", "false"], ["assistant", "answer 2", "true"],
                ])
            _ = try ask(stage, path, first + [["assistant", "answer 2"], ["user", "three"]])
            #expect(try messages(stage).last?[1] == "answer 3")
            #expect(upstream.requests.last?.messages.count == 5)
        }
    }

    /// A stored prompt has its members. With others the prompt is another one.
    @Test func repeatedPromptWithOtherMembersBeginsABranch() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let message = #""model":"tiny","messages":[{"role":"user","content":"one"}]"#
            for members in [#""temperature":0"#, #""temperature":1"#, #""temperature":1"#] {
                let answer = try RawClient.post(
                    port: stage.port, Self.completions, json: "{\(message),\(members)}", fields: Self.identity)
                #expect(answer.status == 200)
            }
            #expect(
                try rows(stage).map { [$0[0], $0[2]] } == [
                    ["user", "false"], ["assistant", "false"], ["user", "true"], ["assistant", "false"],
                    ["assistant", "true"],
                ])
            #expect(
                upstream.requests.map { String(decoding: $0.body, as: UTF8.self).contains(#""temperature":1"#) } == [
                    false, true, true,
                ])
        }
    }

    @Test func changedTextBeginsABranch() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            _ = try ask(stage, Self.completions, [["system", "s"], ["user", "one"]])
            let first = [["system", "s"], ["user", "one"], ["assistant", "answer 0"]]
            _ = try ask(stage, Self.completions, first + [["user", "two"]])
            _ = try ask(stage, Self.completions, first + [["user", "changed"]])
            #expect(upstream.requests.last?.messages == first + [["user", "changed"]])
            #expect(try messages(stage) == first + [["user", "changed"], ["assistant", "answer 2"]])
            _ = try ask(stage, Self.completions, [["system", "other"], ["user", "one"]])
            #expect(upstream.requests.last?.messages == [["system", "other"], ["user", "one"]])
            #expect(try messages(stage) == [["system", "other"], ["user", "one"], ["assistant", "answer 3"]])
        }
    }

    @Test func modelDoesNotGetWhatTheClientHasForgotten() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            var known: [[String]] = []
            for number in 0..<3 {
                known.append(["user", "prompt \(number)"])
                _ = try ask(stage, "/api/chat", known)
                known.append(["assistant", "answer \(number)"])
            }
            let sent = Array(known.suffix(2)) + [["user", "next"]]
            _ = try ask(stage, "/api/chat", sent)
            #expect(upstream.requests.last?.messages == sent)
        }
    }

    /// One key has many chats.
    @Test func chatThatEndsLikeAnotherOneDoesNotGetItsBeginning() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let fields = [("X-App-ID", "shop")]
            let other = [["user", "My card number is 4111"], ["assistant", "Hello"], ["user", "hi"]]
            _ = try ask(stage, Self.completions, Array(other.prefix(1)), fields: fields)
            _ = try ask(stage, Self.completions, other, fields: fields)
            let chat = [["user", "hi"], ["assistant", "Hello"], ["user", "What is my card number?"]]
            _ = try ask(stage, Self.completions, chat, fields: fields)
            #expect(upstream.requests.map(\.messages) == [Array(other.prefix(1)), other, chat])
        }
    }

    @Test(arguments: [[["user", "What did I say?"]], [["user", "A secret"]]])
    func requestBesideARunningOneGetsItsOwnMessages(_ second: [[String]]) async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream([
            .streamHead, .wait(for: gate), .chunk(ModelLine.token("Hello")), .chunk(ModelLine.done()), .endChunks,
        ])
        try await onStage(upstream: upstream.url) { stage in
            let first = [["user", "A secret"]]
            let clients = try [first, second].enumerated().map { number, messages in
                let client = try RawClient(port: stage.port)
                client.post(Self.completions, json: body(messages), fields: [("X-App-ID", "shop")])
                // The second prompt is stored while the first one is answered. The rows of running replies are left out here.
                if number == 0 { try upstream.waitForRequests(1) }
                try eventually("prompt \(number) is stored", isTrue: { try stage.rows("shop").count == number + 1 })
                return client
            }
            gate.open()
            for client in clients { #expect(try client.readResponse(of: "POST").status == 200) }
            #expect(upstream.requests.map(\.messages) == [first, second])
        }
    }

    @Test func clientMaySendOnlyNewMessages() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            for text in ["one", "one"] {
                let fields = Self.identity + [("X-History", "append")]
                let answer = try ask(stage, "/v1/messages", [["user", text]], fields: fields)
                #expect(answer.status == 200)
            }
            #expect(try messages(stage).map { $0[1] } == ["one", "answer 0", "one", "answer 1"])
        }
    }

    @Test func identityAloneNamesTheDefaultConversation() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let answer = try ask(stage, "/api/chat", [["user", "one"]], fields: [("X-App-ID", "shop")])
            #expect(answer["X-Conversation-ID"] == "shop")
            #expect(try messages(stage, "shop") == [["user", "one"], ["assistant", "answer 0"]])
        }
    }

    @Test func generatedTextBelongsToNoConversation() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let body = #"{"model":"tiny","prompt":"one","stream":false}"#
            let answer = try RawClient.post(port: stage.port, "/api/generate", json: body, fields: Self.identity)
            #expect(answer.status == 200 && answer["X-Conversation-ID"] == nil)
            #expect(try stage.send("GET", "/conversations/trip?appID=shop").status == 404)
        }
    }

    @Test func credentialDecidesTheConversation() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let ada = try stage.makeToken(key, person: "ada")
            let trip = [("X-Conversation-ID", "trip")]
            for credential in [key, ada] {
                let answer = try stage.call(
                    "POST", Self.completions, body([["user", "one"]]), as: credential, fields: trip)
                #expect(answer.status == 200 && answer["X-Conversation-ID"] == "trip")
            }
            // The app and its person have a conversation each.
            #expect(upstream.requests.map(\.messages) == [[["user", "one"]], [["user", "one"]]])
            let foreign = try stage.call(
                "POST", Self.completions, body([["user", "one"]]), as: key, fields: [("X-App-ID", "other")])
            #expect(
                foreign.status == 403
                    && (foreign.json["error"] as? [String: Any])?["type"] as? String == "permission_error")
        }
    }

    @Test(arguments: [
        [("X-Conversation-ID", "trip")], [("X-App-ID", "shop"), ("X-History", "some")],
        [("X-App-ID", "shop"), ("X-Conversation-ID", String(repeating: "x", count: 156))],
    ])
    func fieldsThatMakeNoSenseAreRefused(_ fields: [(String, String)]) async throws {
        try await onStage { stage in
            let answer = try ask(stage, Self.completions, [["user", "one"]], fields: fields)
            #expect(answer.status == 400, "\(answer.text)")
        }
    }

    @Test func seededConversationCannotBeginOtherwise() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let seed = #"{"appID":"shop","conversation":"trip","messages":[{"role":"system","content":"s"}]}"#
            let seeded = try RawClient.post(port: stage.port, "/llmprep", json: seed)
            #expect(seeded.status == 200)
            #expect(try ask(stage, Self.completions, [["system", "s"], ["user", "one"]]).status == 200)
            #expect(upstream.requests.last?.messages == [["system", "s"], ["user", "one"]])
            let refused = try ask(stage, Self.completions, [["system", "other"], ["user", "one"]])
            #expect(refused.status == 400 && refused.text.contains("X-Conversation-ID"), "\(refused.text)")
        }
    }
}
