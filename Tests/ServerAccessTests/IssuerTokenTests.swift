import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Requests with tokens of external issuers.
@Suite(.timeLimit(.minutes(30))) struct IssuerTokenTests {
    private static let key = IssuerKey("k1")

    /// A server whose app `shop` accepts the tokens of an issuer with keys in a file.
    private func environment(_ mode: String, keys: String) throws -> [Setting: String] {
        let entry =
            #"{"app":"shop","issuer":"https://accounts.example","audience":"shop-client","person_prefix":"idp:","#
            + #""jwks_file":"\#(keys)"}"#
        return [.access: mode, .adminToken: testAdminToken, .issuers: "{\"issuers\":[\(entry)]}"]
    }

    @Test(arguments: ["keys", "open"])
    func personOfAnIssuerHasOwnConversations(mode: String) async throws {
        let (files, upstream) = (try Certificates(), try ScriptedUpstream.answering(["Hello"]))
        try files.overwrite(files.certificate("second"), with: IssuerKey.set(Self.key))
        let environment = try environment(mode, keys: files.certificate("second"))
        try await onStage(upstream: upstream.url, environment: environment) { stage in
            let (ann, bob) = (Self.key.token(), Self.key.token(["sub": #""bob""#]))
            Transcript(try stage.call("POST", "/llmchat", prompt("of ann"), as: ann)).check()
            Transcript(try stage.call("POST", "/llmchat", prompt("of bob"), as: bob)).check()
            #expect(upstream.requests.last?.messages == [["user", "of bob"]])
            #expect(try stage.rows("shop\u{1F}idp:ann\u{1F}").count == 2)
            // A token has no scope for keys.
            #expect(try stage.call("GET", "/keys", as: ann).status == 403)

            // A token of a configured issuer must be valid, in `open` mode too.
            for token in [Self.key.token(["exp": "1000000000"]), IssuerKey("k1").token(), IssuerKey("k2").token()] {
                let refusal = try stage.call("POST", "/llmchat", prompt("x"), as: token)
                #expect(refusal.status == 401 && refusal.json["code"] as? String == "unauthorized")
            }
            #expect(upstream.requests.count == 2)
        }
        withExtendedLifetime(files) {}
    }

    @Test func missingKeysAreNoWrongCredential() async throws {
        try await onStage(environment: try environment("keys", keys: "/nowhere/jwks.json")) { stage in
            let refusal = try stage.call("POST", "/llmchat", prompt("x"), as: Self.key.token())
            #expect(refusal.status == 503 && refusal.json["code"] as? String == "issuer_unavailable")
            #expect(refusal["Retry-After"] != nil)
        }
    }
}
