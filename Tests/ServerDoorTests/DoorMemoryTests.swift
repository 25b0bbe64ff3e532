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
                // The second one is asked while the first one is answered.
                try upstream.waitForRequests(number + 1)
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

    @Test func identityAloneNamesTheDefaultConversationForNewMessages() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let fields = [("X-App-ID", "shop"), ("X-History", "append")]
            let answer = try ask(stage, "/api/chat", [["user", "one"]], fields: fields)
            #expect(answer["X-Conversation-ID"] == "shop")
            #expect(try messages(stage, "shop") == [["user", "one"], ["assistant", "answer 0"]])
        }
    }

    private static let app = [("X-App-ID", "shop")]

    /// The messages as they are stored: white space at the ends does not count.
    private static func trimmed(_ messages: [[String]]) -> [[String]] {
        messages.map { [$0[0], $0[1].trimmingCharacters(in: .whitespacesAndNewlines)] }
    }

    @Test(arguments: ["/api/chat", completions, "/v1/messages"])
    func chatIsFoundByItsHistory(_ path: String) async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            var (chats, names) = ([[["user", "hi"]], [["user", "hi"]]], ["", ""])
            for number in 0..<6 {
                let chat = number % 2
                let answer = try ask(stage, path, chats[chat], fields: Self.app)
                #expect(upstream.requests.last?.messages == Self.trimmed(chats[chat]))
                let name = try #require(answer["X-Conversation-ID"])
                if number < 2 { names[chat] = name }
                #expect(names[chat] == name)
                chats[chat].append(["assistant", " answer \(number)\n"])
                chats[chat].append(["user", "prompt \(number)"])
            }
            #expect(names[0] != names[1] && !names.contains("shop"))
            for chat in 0..<2 {
                #expect(try messages(stage, names[chat]) == Self.trimmed(chats[chat].dropLast()))
            }
        }
    }

    @Test func changingSystemTextBeginsNoOtherConversation() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            var chat: [[String]] = []
            var names: Set<String> = []
            for number in 0..<5 {
                chat.append(["user", "prompt \(number)"])
                let system = [["system", "It is 10:0\(number)."], ["system", "Be brief."]]
                let answer = try ask(stage, Self.completions, system + chat, fields: Self.app)
                names.insert(answer["X-Conversation-ID"] ?? "")
                #expect(
                    upstream.requests.last?.messages == [["system", "It is 10:0\(number).\n\nBe brief."]] + chat)
                chat.append(["assistant", "answer \(number)"])
            }
            #expect(names.count == 1)
            // The first ones are stored, for those who continue the conversation in another way.
            let system = [["system", "It is 10:00."], ["system", "Be brief."]]
            let name = try #require(names.first)
            #expect(try messages(stage, name) == system + chat)
            Transcript(try stage.ask("shop", "native", adding: ",\"conversation\":\"\(name)\"")).check()
            #expect(upstream.requests.last?.messages == system + chat + [["user", "native"]])
            // A request without any gets none.
            _ = try ask(stage, Self.completions, chat + [["user", "go on"]], fields: Self.app)
            #expect(upstream.requests.last?.messages == chat + [["user", "go on"]])
        }
    }

    /// The beginning of a long answer is in the journal when it ends.
    @Test func longAnswerIsFoundInTheHistory() async throws {
        let gate = Gate()
        let long = String(repeating: "0123456789 ", count: 12_000)
        let upstream = try ScriptedUpstream { request in
            guard request.number == 0 else { return .answer(["x"]) }
            return [.streamHead, .chunk(ModelLine.token(long)), .wait(for: gate)]
                + [UpstreamStep].answer(["end"]).dropFirst()
        }
        try await onStage(upstream: upstream.url) { stage in
            let client = try RawClient(port: stage.port)
            client.post("/api/chat", json: body([["user", "hi"]]), fields: Self.app)
            let rows = "SELECT FROM chatterd_journal"
            try eventually(
                "the beginning is in rows of the journal",
                isTrue: { try !stage.cluster.query(rows, database: stage.database).isEmpty })
            gate.open()
            let first = try client.readResponse(of: "POST")
            let chat = [["user", "hi"], ["assistant", long + "end"], ["user", "go on"]]
            let second = try ask(stage, "/api/chat", chat, fields: Self.app)
            #expect(second["X-Conversation-ID"] == first["X-Conversation-ID"])
            #expect(upstream.requests.last?.messages == chat)
        }
    }

    @Test func changedPromptBeginsABranchBehindWhatIsEqual() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let one = [["user", "one"], ["assistant", "answer 0"]]
            let first = try ask(stage, Self.completions, [one[0]], fields: Self.app)
            _ = try ask(stage, Self.completions, one + [["user", "two"]], fields: Self.app)
            for prompt in ["changed", "two"] {
                let answer = try ask(stage, Self.completions, one + [["user", prompt]], fields: Self.app)
                #expect(answer["X-Conversation-ID"] == first["X-Conversation-ID"])
                #expect(upstream.requests.last?.messages == one + [["user", prompt]])
            }
            let name = first["X-Conversation-ID"] ?? ""
            #expect(try messages(stage, name) == one + [["user", "two"], ["assistant", "answer 3"]])
            // What the client has never been answered is another chat.
            let other = try ask(
                stage, Self.completions, [["user", "one"], ["assistant", "no"], ["user", "two"]], fields: Self.app)
            #expect(other.status == 200 && other["X-Conversation-ID"] != first["X-Conversation-ID"])
        }
    }

    @Test func chatWhoseReplyIsGoneBeginsAgain() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let chat = [["system", "s"], ["user", "hi"], ["assistant", "answer 0"], ["user", "go on"]]
            let first = try ask(stage, Self.completions, Array(chat.prefix(2)), fields: Self.app)
            // It is found, and does not exist any more when the prompt is stored.
            try stage.cluster.query("UPDATE chatts SET turn = 0 WHERE history IS NOT NULL", database: stage.database)
            let second = try ask(stage, Self.completions, chat, fields: Self.app)
            #expect(second.status == 200 && second["X-Conversation-ID"] != first["X-Conversation-ID"], "\(second.text)")
            #expect(upstream.requests.last?.messages == chat)
            #expect(
                try messages(stage, second["X-Conversation-ID"] ?? "") == chat + [["assistant", "answer 1"]])
        }
    }

    /// Histories omit them, so the model would get less than the client has sent.
    @Test(arguments: [false, true]) func turnThatNoHistoryHasIsNotFound(_ isCall: Bool) async throws {
        let message =
            #"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}"#
        let call = #"{"message":\#(message),"done":false}"# + "\n"
        let upstream = try ScriptedUpstream { request in
            guard request.number == 0 else { return .answer(["yes"]) }
            return [.streamHead] + (isCall ? [.chunk(call)] : []) + [.chunk(ModelLine.error()), .endChunks]
        }
        try await onStage(upstream: upstream.url) { stage in
            _ = try ask(stage, "/api/chat", [["user", "hi"]], fields: Self.app)
            let calls = isCall ? #","tool_calls":[{"function":{"name":"f","arguments":{}}}]"# : ""
            let last = isCall ? #"{"role":"tool","tool_name":"f","content":"1"}"# : #"{"role":"user","content":"so?"}"#
            let sent =
                #"{"model":"tiny","stream":false,"messages":[{"role":"user","content":"hi"},"#
                + #"{"role":"assistant","content":""\#(calls)},\#(last)]}"#
            let answer = try RawClient.post(port: stage.port, "/api/chat", json: sent, fields: Self.app)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(upstream.requests.last?.messages.map { $0[0] } == ["user", "assistant", isCall ? "tool" : "user"])
        }
    }

    /// The history of another chat would attract its prompts.
    @Test func onlyADoorSaysWhatTheHistoryIs() async throws {
        try await onStage { stage in
            for name in ["chatterd", "chatterd_history", "chatterd_system"] {
                let answer = try RawClient.post(
                    port: stage.port, "/llmchat",
                    json: #"{"appID":"shop","model":"tiny","messages":[{"role":"user","content":"x"}],"\#(name)":"x"}"#)
                #expect(answer.status == 422 && answer.text.contains(name), "\(answer.text)")
            }
        }
    }

    /// A copy that its owner has changed must not pass for what a client has said.
    @Test func importedReplyIsNotFoundByAHistory() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let first = try ask(stage, "/api/chat", [["system", "s"], ["user", "hi"]], fields: Self.app)
            let name = try #require(first["X-Conversation-ID"])
            let export = try stage.send("GET", "/conversations/\(name)/export?appID=shop").text
            #expect(export.contains("chatterd_history"))
            let imported = try RawClient.post(
                port: stage.port, "/conversations/copy/import?appID=shop", json: export,
                fields: [("Content-Type", "application/x-ndjson")])
            #expect((200...201).contains(imported.status), "\(imported.text)")
            let options = try stage.cluster.query(
                #"SELECT options FROM chatts WHERE appid LIKE '%copy' AND options LIKE '%chatterd%'"#,
                database: stage.database)
            #expect(options.isEmpty)
        }
    }

    @Test func replyOfAnotherDoorIsAWholeResponse() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let members: [String] = try [Self.completions, ResponseTests.path].map { path in
                let input = path == Self.completions ? "messages" : "input"
                let body =
                    #"{"model":"tiny","\#(input)":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}"#
                let answer = try RawClient.post(port: stage.port, path, json: body, fields: Self.app)
                let id = try #require(answer["Location"]).dropFirst("/replies/".count)
                let response = try stage.send("GET", "\(ResponseTests.path)/resp_\(id)", fields: Self.app).json
                return response.keys.sorted().joined(separator: " ")
            }
            #expect(members[0] == members[1])
            #expect(members[0].contains("tool_choice") && !members[0].contains("history"))
        }
    }

    /// More chats with the same history than are compared come between a request and its repetition.
    @Test func repeatedKeyFindsItsChatAmongMany() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let chat = [["user", "hi"], ["assistant", "Hello"], ["user", "go on"]]
            let keyed = Self.app + [("Idempotency-Key", "k")]
            for _ in 0..<3 { _ = try ask(stage, "/api/chat", [chat[0]], fields: Self.app) }
            let first = try ask(stage, "/api/chat", chat, fields: keyed)
            for _ in 0..<20 { _ = try ask(stage, "/api/chat", [chat[0]], fields: Self.app) }
            let again = try ask(stage, "/api/chat", chat, fields: keyed)
            #expect(first["Location"] == again["Location"])
        }
    }

    @Test func repetitionOfALibraryGetsTheReplyOfTheFirstRequest() async throws {
        let upstream = try ScriptedUpstream { request in
            request.messages.last?.last == "fail" ? .error(500, "no") : .answer(["answer \(request.number)"])
        }
        try await onStage(upstream: upstream.url, environment: [.failoverAttempts: "0"]) { stage in
            func ask(_ text: String, _ count: Int, _ app: String = "shop") throws -> HTTPExchange {
                try self.ask(
                    stage, Self.completions, [["user", text]],
                    fields: [("X-App-ID", app), ("X-Stainless-Retry-Count", "\(count)")])
            }
            let first = try ask("hi", 0)
            let again = try ask("hi", 1)
            #expect(first.status == 200 && again.text.contains("answer 0"), "\(again.text)")
            #expect(again["Location"] == first["Location"])
            #expect(again["X-Conversation-ID"] == first["X-Conversation-ID"])
            // Another client with the same words, another owner, other words.
            let others = [try ask("hi", 0), try ask("hi", 1, "other"), try ask("Hi", 1)]
            #expect(Set((others + [first]).map { $0["Location"] }).count == 4)
            #expect(upstream.requests.count == 4)
            let failed = try ask("fail", 0)
            #expect(failed.status >= 500, "\(failed.text)")
            let count = upstream.requests.count
            #expect(try ask("fail", 1).status >= 500 && upstream.requests.count > count)
        }
    }

    @Test func repetitionOfALibraryIsAnsweredByTheReplyThatRuns() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream.answering("One", then: " two", behind: gate)
        try await onStage(upstream: upstream.url) { stage in
            let fields = Self.app + [("X-Stainless-Retry-Count", "0")]
            let body = #"{"model":"tiny","stream":true,"messages":[{"role":"user","content":"hi"}]}"#
            let client = try RawClient(port: stage.port)
            client.post(Self.completions, json: body, fields: fields)
            let head = try client.readHead()
            let other = try stage.startAnother()
            let repeating = try RawClient(port: other.port)
            repeating.post(Self.completions, json: body, fields: Self.app + [("X-Stainless-Retry-Count", "2")])
            #expect(try repeating.readHead()["Location"] == head["Location"])
            gate.open()
            #expect(String(decoding: repeating.readBody(), as: UTF8.self).contains(" two"))
            #expect(upstream.requests.count == 1)
            try other.stop()
        }
    }

    @Test(arguments: ["/api/chat", completions])
    func messageOfTheSystemWithMoreThanTextIsSent(_ path: String) async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let more = path == "/api/chat" ? #""tool_name":"""# : #""reasoning_content":"hm""#
            let system = #"{"role":"system","content":"s",\#(more)}"#
            let rest = [["user", "hi"], ["assistant", "answer 0"], ["user", "go on"]]
            for count in [1, 3] {
                let list = rest.prefix(count).map { #"{"role":"\#($0[0])","content":"\#($0[1])"}"# }
                let body =
                    #"{"model":"tiny","stream":false,"messages":[\#(([system] + list).joined(separator: ","))]}"#
                let answer = try RawClient.post(port: stage.port, path, json: body, fields: Self.app)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(upstream.requests.last?.messages == [["system", "s"]] + rest.prefix(count))
            }
        }
    }

    @Test func chatsWithKeysStayApart() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let chat = [["user", "hi"], ["assistant", "Hello"], ["user", "go on"]]
            var names: [String] = []
            for number in 0..<18 {
                for messages in [Array(chat.prefix(1)), chat] {
                    let key = ("Idempotency-Key", "\(number).\(messages.count)")
                    let answer = try ask(stage, "/api/chat", messages, fields: Self.app + [key])
                    names.append(answer["X-Conversation-ID"] ?? "")
                }
            }
            #expect(Set(names).count == 18)
            #expect((0..<18).allSatisfy { names[2 * $0] == names[2 * $0 + 1] })
        }
    }

    /// The fields and members of a request that name a chat for its program.
    private static func named(_ name: String, _ isMember: Bool) -> (fields: [(String, String)], member: String) {
        isMember ? ([], #""prompt_cache_key":"\#(name)","#) : ([("X-OpenWebUI-Chat-Id", name)], "")
    }

    private func ask(
        _ stage: Stage, _ messages: [[String]], in chat: String, app: String = "shop", isMember: Bool = false
    ) throws -> HTTPExchange {
        let (fields, member) = Self.named(chat, isMember)
        let json = "{" + member + body(messages).dropFirst()
        return try RawClient.post(port: stage.port, Self.completions, json: json, fields: [("X-App-ID", app)] + fields)
    }

    @Test(arguments: [false, true]) func chatsThatTheirProgramNamesStayApart(_ isMember: Bool) async throws {
        let upstream = try ScriptedUpstream.answering(["same"])
        try await onStage(upstream: upstream.url) { stage in
            var known = [["user", "Hi"]]
            for text in ["And?", "More?"] {
                for chat in ["c7", "c8"] {
                    let answer = try ask(stage, known, in: chat, isMember: isMember)
                    #expect(answer["X-Conversation-ID"] == chat, "\(answer.text)")
                    #expect(upstream.requests.last?.messages == known)
                }
                known += [["assistant", "same"], ["user", text]]
            }
            #expect(try messages(stage, "c7") == known.dropLast() && messages(stage, "c8") == known.dropLast())
            // Another app has its own, and a request of the chat with another history is a conversation of its own.
            #expect(try ask(stage, [["user", "Hi"]], in: "c7", app: "inn")["X-Conversation-ID"] == "c7")
            let title = try ask(stage, [["user", "Write a title."]], in: "c7", isMember: isMember)
            #expect(title.status == 200 && title["X-Conversation-ID"] != "c7")
            #expect(try messages(stage, "c7") == known.dropLast())
            // The named conversation goes on behind it.
            #expect(try ask(stage, known, in: "c7", isMember: isMember)["X-Conversation-ID"] == "c7")
        }
    }

    @Test(arguments: [String(repeating: "x", count: 200), "..", "a\u{1}b"])
    func nameOfAChatThatNoConversationCanHaveHasNoEffect(_ name: String) async throws {
        let upstream = try ScriptedUpstream.answering(["same"])
        try await onStage(upstream: upstream.url) { stage in
            let answer = try ask(stage, [["user", "Hi"]], in: name.replacing("\u{1}", with: "\\u0001"), isMember: true)
            #expect(answer.status == 200 && answer["X-Conversation-ID"] != nil && answer["X-Conversation-ID"] != name)
        }
    }

    @Test func requestWithAKeyHasOnePlaceWhateverTheNameOfTheChat() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let fields = [("X-App-ID", "shop"), ("X-OpenWebUI-Chat-Id", "c7")]
            func ask(_ key: String?) throws -> HTTPExchange {
                let key = key.map { [("Idempotency-Key", $0)] } ?? []
                return try self.ask(stage, Self.completions, [["user", "Hi"]], fields: fields + key)
            }
            let first = try ask("k")
            // The name is taken between both.
            #expect(try ask(nil)["X-Conversation-ID"] == "c7")
            let second = try ask("k")
            #expect(first["Location"] == second["Location"] && upstream.requests.count == 2)
        }
    }

    @Test func nameOfAParticipantSurvivesAnExport() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let body = #"{"model":"tiny","messages":[{"role":"user","name":"ada","content":"Hi"}]}"#
            let answer = try RawClient.post(port: stage.port, Self.completions, json: body, fields: Self.identity)
            #expect(answer.status == 200, "\(answer.text)")
            let file = try stage.send("GET", "/conversations/trip/export?appID=shop").text
            let copy = try RawClient.post(port: stage.port, "/conversations/copy/import?appID=shop", json: file)
            #expect(copy.status == 201, "\(copy.text)")
            #expect(try stage.send("GET", "/conversations/copy/export?appID=shop").text.contains(#""name":"ada""#))
        }
    }

    @Test func nameOfTheConversationCountsMoreThanThatOfTheChat() async throws {
        let upstream = try counting()
        try await onStage(upstream: upstream.url) { stage in
            let fields = Self.identity + [("X-OpenWebUI-Chat-Id", "c7")]
            let answer = try ask(stage, Self.completions, [["user", "Hi"]], fields: fields)
            #expect(answer["X-Conversation-ID"] == "trip")
        }
    }

    @Test func operatorChoosesTheNamesOfChats() async throws {
        let upstream = try counting()
        for (names, isNamed) in [("none", false), ("X-Other", false), ("X-Other,x-openwebui-chat-id", true)] {
            try await onStage(upstream: upstream.url, environment: [.chatNames: names]) { stage in
                let answer = try ask(stage, [["user", "Hi"]], in: "c7")
                #expect((answer["X-Conversation-ID"] == "c7") == isNamed, "\(names)")
            }
        }
    }

    @Test func chatOfAnotherOwnerIsNotFound() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let credentials = [key, try stage.makeToken(key, person: "ada"), try stage.makeKey("other")]
            let chat = [["user", "hi"], ["assistant", "Hello"], ["user", "go on"]]
            var names: [[String]] = []
            for messages in [Array(chat.prefix(1)), chat] {
                names.append(
                    try credentials.map {
                        let answer = try stage.call("POST", Self.completions, body(messages), as: $0)
                        return try #require(answer["X-Conversation-ID"], "\(answer.text)")
                    })
            }
            #expect(names[0] == names[1] && Set(names[0]).count == 3)
        }
    }

    @Test func repeatedKeyFindsItsConversation() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url) { stage in
            let chat = [["user", "hi"], ["assistant", "Hello"], ["user", "go on"]]
            var answers: [[String?]] = []
            // Another chat with the same history comes between the request and its repetition.
            for (key, messages) in [
                ("a", Array(chat.prefix(1))), ("b", Array(chat.prefix(1))), ("c", chat), ("a", Array(chat.prefix(1))),
                ("c", chat), ("d", Array(chat.prefix(1))), ("c", chat),
            ] {
                let answer = try ask(
                    stage, Self.completions, messages, fields: Self.app + [("Idempotency-Key", key)])
                answers.append([answer["X-Conversation-ID"], answer["Location"]])
            }
            #expect(answers[3] == answers[0] && answers[4] == answers[2] && answers[6] == answers[2])
            #expect(upstream.requests.count == 4)
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
