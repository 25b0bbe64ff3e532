import ChatterdConfiguration
import ChatterdTestSupport
import Testing

/// The end of keys and of people's tokens before their time.
@Suite(.timeLimit(.minutes(30))) struct RevocationTests {
    /// Starts a prompt whose answer stalls after its first word.
    private func begin(_ stage: Stage, as credential: String) throws -> RawClient {
        let client = try RawClient(port: stage.port)
        client.post("/llmchat", json: prompt("x"), fields: [("Authorization", "Bearer \(credential)")])
        #expect(try client.readHead().status == 200)
        #expect(try client.nextDataEvent().data?.contains("first") == true)
        return client
    }

    /// Waits until the server refuses a credential: another process has revoked it.
    private func waitUntilRefused(_ stage: Stage, _ credential: String) throws {
        while try stage.call("GET", "/models", as: credential).status == 200 {}
        #expect(try stage.call("GET", "/models", as: credential).status == 401)
    }

    @Test func revokedKeyEndsItsStreamsAndThoseOfItsTokens() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "first")
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let (key, other) = (try stage.makeKey("shop"), try stage.makeKey("shop"))
            let token = try stage.makeToken(key, person: "ada")
            let stream = try begin(stage, as: token)
            #expect(try stage.call("DELETE", "/keys/\(Stage.id(of: key))", as: testAdminToken).status == 200)
            let event = try stream.nextDataEvent()
            #expect(event.name == "error" && event.data?.contains("unauthorized") == true)
            #expect(stream.readEvents().isEmpty)
            try waitUntilRefused(stage, key)
            try waitUntilRefused(stage, token)
            #expect(try stage.call("POST", "/tokens", "{}", as: key).status == 401)
            #expect(try stage.call("GET", "/models", as: other).status == 200)
        }
    }

    @Test func revocationByAnotherProcessEndsStreams() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "first")
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let other = try Stage(environment: withKeys, cluster: stage.cluster, database: stage.database)
            let stream = try begin(stage, as: key)
            #expect(try other.call("DELETE", "/keys/\(Stage.id(of: key))", as: testAdminToken).status == 200)
            let event = try stream.nextDataEvent()
            #expect(event.name == "error" && event.data?.contains("unauthorized") == true)
            try waitUntilRefused(stage, key)
            try other.stop()
        }
    }

    @Test func revokedPersonLosesTokensAndOthersKeepThem() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let (ada, bob) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "bob"))
            // The same name in another app is another person.
            let namesake = try stage.makeToken(try stage.makeKey("other"), person: "ada")
            for token in [ada, bob, namesake] {
                #expect(try stage.call("GET", "/models", as: token).status == 200)
            }
            #expect(try stage.call("DELETE", "/people/ada", as: key).status == 200)
            try waitUntilRefused(stage, ada)
            for token in [bob, namesake, key] {
                #expect(try stage.call("GET", "/models", as: token).status == 200)
            }
        }
    }

    /// A process that starts later knows the revocations.
    @Test func revocationsOutliveTheProcess() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let ada = try stage.makeToken(key, person: "ada")
            #expect(try stage.call("DELETE", "/people/ada", as: key).status == 200)
            let later = try Stage(environment: withKeys, cluster: stage.cluster, database: stage.database)
            #expect(try later.call("GET", "/models", as: ada).status == 401)
            #expect(try later.call("GET", "/models", as: key).status == 200)
            try later.stop()
        }
    }
}
