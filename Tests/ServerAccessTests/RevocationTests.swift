import ChatterdConfiguration
import ChatterdIdentity
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The end of keys and of people's tokens before their time.
@Suite(.timeLimit(.minutes(30))) struct RevocationTests {
    /// Starts a prompt whose answer stalls after its first word.
    private func begin(_ stage: Stage, as credential: String) throws -> RawClient {
        let client = try RawClient(port: stage.port)
        client.post("/llmchat", json: prompt("x"), fields: [("Authorization", "Bearer \(credential)")])
        #expect(try client.readHead().status == 200)
        try client.nextDataEvent(containing: "first")
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
            let event = try stream.nextDataEvent(containing: "unauthorized")
            #expect(event.name == "error")
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
            let other = try stage.startAnother()
            let stream = try begin(stage, as: key)
            #expect(try other.call("DELETE", "/keys/\(Stage.id(of: key))", as: testAdminToken).status == 200)
            let event = try stream.nextDataEvent(containing: "unauthorized")
            #expect(event.name == "error")
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

    @Test func keyThatIsRotatedWithoutAnOverlapEndsOnAllProcesses() async throws {
        try await onStage(environment: withKeys) { stage in
            let (old, key) = (try stage.makeKey("shop"), try stage.makeKey("shop"))
            let (ada, bob) = (try stage.makeToken(old, person: "ada"), try stage.makeToken(key, person: "bob"))
            let other = try stage.startAnother()
            for process in [stage, other] {
                for credential in [old, ada, bob] {
                    #expect(try process.call("GET", "/models", as: credential).status == 200)
                }
            }
            let rotation = try stage.call(
                "POST", "/keys/\(Stage.id(of: old))/rotate", #"{"overlap":0}"#, as: testAdminToken)
            #expect(rotation.status == 201)
            #expect(try stage.call("DELETE", "/people/bob", as: key).status == 200)
            for process in [stage, other] {
                // A process that knows the revocation has read of the rotation before. Its clock may be a moment behind the end of the key.
                for credential in [bob, old, ada] {
                    try waitUntilRefused(process, credential)
                }
            }
            try other.stop()
        }
    }

    /// A process reads a revocation up to a second later, so the person may use the next token before.
    @Test func tokenMadeAfterTheRevocationKeepsItsStream() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "first")
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let (ada, bob) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "bob"))
            let issuedAt = try #require(try JSONWebToken(parsing: ada).claims.issuedAt)
            let stream = try RawClient(port: stage.port)
            stream.post("/llmchat", json: prompt("x"), fields: [("Authorization", "Bearer \(ada)")])
            let location = try #require(try stream.readHead()["Location"])
            try stream.nextDataEvent(containing: "first")
            _ = try stage.cluster.query(
                """
                INSERT INTO chatterd_revocations (revision, kind, subject, at) VALUES (
                    nextval('chatterd_revisions'), 'person', 'shop' || chr(31) || 'ada' || chr(31),
                    to_timestamp(\(issuedAt - 1)) + interval '0.9 s')
                """, database: stage.database)
            // The process has read both revocations when it knows the second one.
            #expect(try stage.call("DELETE", "/people/bob", as: key).status == 200)
            try waitUntilRefused(stage, bob)
            #expect(try stage.call("GET", "/models", as: ada).status == 200)
            #expect(try stage.call("DELETE", location, as: ada).status < 300)
            try stream.nextDataEvent(containing: "cancelled")
        }
    }

    /// Commits of prompts wait, at the very end, until the gate is empty.
    private static let slowCommit = """
        CREATE TABLE gate AS SELECT 1;
        CREATE FUNCTION wait_for_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            WHILE EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.02); END LOOP;
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER wait_for_gate AFTER INSERT ON chatts DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_for_gate()
        """

    @Test func revocationEndsAStreamThatBeginsAfterwards() async throws {
        let upstream = try ScriptedUpstream.stalling(after: "first")
        try await onStage(upstream: upstream.url, environment: withKeys, pipelineDepth: 1) { stage in
            let key = try stage.makeKey("shop")
            let ada = try stage.makeToken(key, person: "ada")
            try stage.cluster.query(Self.slowCommit, database: stage.database)
            let client = try RawClient(port: stage.port)
            client.post("/llmchat", json: prompt("x"), fields: [("Authorization", "Bearer \(ada)")])
            let waiting = """
                SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()
                """
            try eventually(
                "the prompt is being stored",
                isTrue: { try stage.cluster.query(waiting, database: stage.database) == [["t"]] })
            #expect(try stage.call("DELETE", "/people/ada", as: key).status == 200)
            try waitUntilRefused(stage, ada)
            try stage.cluster.query("DELETE FROM gate", database: stage.database)
            #expect(try client.readHead().status == 200)
            let last = client.readEvents().last { $0.data != nil }
            #expect(last?.name == "error" && last?.data?.contains("unauthorized") == true)
        }
    }

    /// A process that starts later knows the revocations.
    @Test func revocationsOutliveTheProcess() async throws {
        try await onStage(environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let ada = try stage.makeToken(key, person: "ada")
            #expect(try stage.call("DELETE", "/people/ada", as: key).status == 200)
            let later = try stage.startAnother()
            #expect(try later.call("GET", "/models", as: ada).status == 401)
            #expect(try later.call("GET", "/models", as: key).status == 200)
            try later.stop()
        }
    }
}
