import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// People of one app: each has separate conversations, and a separate turn in the order of answers.
@Suite(.timeLimit(.minutes(30))) struct PeopleTests {
    @Test func peopleOfOneAppDoNotWaitForEachOther() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            request.messages.last?.last == "of ada" ? [.wait(for: gate)] + .answer(["late"]) : .answer(["early"])
        }
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let ada = try stage.send("of ada", as: try stage.makeToken(key, person: "ada"))
            _ = try upstream.waitForRequests(1)
            let bob = try stage.makeToken(key, person: "bob")
            for _ in 0..<2 {
                #expect(try stage.call("POST", "/llmchat", prompt("of bob"), as: bob).text.contains("early"))
            }
            gate.open()
            #expect(Transcript(try ada.readResponse()).text == "late")
        }
    }

    @Test func thousandPeopleAtOnceGetTheirOwnAnswers() async throws {
        raiseDescriptorLimit()
        // The model server of the test has a thread for each person, which a sanitizer makes expensive.
        let people = (1...(isSanitized ? 200 : 1_000)).map { "person-\($0)" }
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            let words = request.messages.map { $0.last ?? "" }.joined(separator: ", ")
            return [.wait(for: gate)] + .answer(["An answer to ", words, "."])
        }
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let tokens = try people.map { try stage.makeToken(key, person: $0) }
            let clients = try zip(people, tokens).map { try stage.send($0, as: $1) }
            // The model server has all prompts before it answers the first one.
            _ = try upstream.waitForRequests(people.count)
            gate.open()
            for (person, client) in zip(people, clients) {
                let answer = try client.readResponse()
                #expect(Transcript(answer).text == "An answer to \(person).")
                client.close()
            }
            let rows = try stage.cluster.query(
                "SELECT replace(appid, E'\\x1f', '/'), message FROM chatts ORDER BY appid, seq",
                database: stage.database)
            let expected = people.sorted { "shop/\($0)/".utf8.lexicographicallyPrecedes("shop/\($1)/".utf8) }.flatMap {
                [["shop/\($0)/", $0], ["shop/\($0)/", "An answer to \($0)."]]
            }
            #expect(Set(rows) == Set(expected))
            #expect(rows.count == expected.count)
        }
    }
}

extension Stage {
    /// Sends a prompt to the default conversation of a principal, and does not read the answer.
    fileprivate func send(_ text: String, as credential: String) throws -> RawClient {
        let client = try RawClient(port: port)
        client.post("/llmchat", json: prompt(text), fields: [("Authorization", "Bearer \(credential)")])
        return client
    }
}
