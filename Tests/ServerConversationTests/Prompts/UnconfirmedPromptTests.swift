import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// A prompt that is stored after its client got `store_unavailable`.
@Suite(.timeLimit(.minutes(30))) struct UnconfirmedPromptTests {
    /// Commits of prompts wait, at the very end, until the gate is empty.
    private static let slowCommit = """
        CREATE TABLE gate AS SELECT 1;
        CREATE SEQUENCE commits;
        CREATE FUNCTION wait_for_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            PERFORM nextval('commits');
            WHILE EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.02); END LOOP;
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER wait_for_gate AFTER INSERT ON chatts DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_for_gate();
        CREATE TABLE withdrawn (name text);
        CREATE FUNCTION note_removal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN INSERT INTO withdrawn VALUES (OLD.name); RETURN NULL; END $$;
        CREATE TRIGGER note_removal AFTER DELETE ON chatts FOR EACH ROW EXECUTE FUNCTION note_removal()
        """

    @Test(arguments: [true, false])
    func refusedPromptIsAnsweredOrWithdrawn(hasKey: Bool) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: [.storeTimeout: "2s"]) { stage in
            try stage.cluster.query(Self.slowCommit, database: stage.database)
            let fields = hasKey ? [("Idempotency-Key", "k")] : []
            // On a busy machine a prompt may be refused before its commit. It is not stored then, so another one is sent.
            let appID = try eventually("a prompt waits in its commit") {
                let appID = "app-\(UUID())"
                let refusal = try stage.ask(appID, appID, fields: fields)
                #expect(refusal.status == 503 && refusal.json["code"] as? String == "store_unavailable")
                let hasBegun = try stage.cluster.query("SELECT is_called FROM commits", database: stage.database)
                return hasBegun == [["t"]] ? appID : nil
            }
            try stage.cluster.query("DELETE FROM gate", database: stage.database)
            if hasKey {
                // On a busy machine the retry may be refused, too.
                let answer = try eventually("the retry succeeds") {
                    let answer = try stage.ask(appID, appID, fields: fields)
                    return answer.status == 200 ? answer : nil
                }
                #expect(answer.events.map(\.text).joined() == "Hello")
                #expect(
                    try stage.rows(appID).map(\.summary) == [["user", appID], ["assistant", "Hello", "complete"]])
                // One that was refused before may be answered now, too.
                #expect(upstream.requests.count { $0.messages == [["user", appID]] } == 1)
            } else {
                let names = "SELECT DISTINCT name FROM withdrawn ORDER BY 1"
                try eventually(
                    "the prompt is removed",
                    isTrue: {
                        try stage.cluster.query(names, database: stage.database) == [["assistant"], ["user"]]
                    })
                try eventually(
                    "no prompt is left",
                    isTrue: { try stage.cluster.query("SELECT FROM chatts", database: stage.database).isEmpty })
                #expect(upstream.requests.isEmpty)
            }
        }
    }
}
