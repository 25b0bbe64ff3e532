import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Signed links: `POST /links`, and requests with `?link=`.
@Suite(.timeLimit(.minutes(30))) struct SignedLinkTests {
    private struct Made {
        let stage: Stage
        let key: String
        let ada: String
        /// The path of ada's reply.
        let location: String
        /// The path of the reply with a link.
        let url: String
    }

    private func onReply(_ body: @escaping @Sendable (Made) throws -> Void) async throws {
        let upstream = try ScriptedUpstream.answering(["secret"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let ada = try stage.makeToken(key, person: "ada")
            let location = try #require(try stage.call("POST", "/llmchat", prompt("one"), as: ada)["Location"])
            let url = try link(stage, #"{"reply":"\#(location.dropFirst("/replies/".count))"}"#, as: ada)
            #expect(url.hasPrefix(location + "?link="))
            try body(Made(stage: stage, key: key, ada: ada, location: location, url: url))
        }
    }

    private func link(_ stage: Stage, _ json: String, as credential: String) throws -> String {
        let made = try stage.call("POST", "/links", json, as: credential)
        #expect(made.status == 201, "\(made.text)")
        return try #require(made.json["url"] as? String)
    }

    @Test func linkReadsItsReplyOnly() async throws {
        try await onReply { made in
            let stage = made.stage
            let answer = try stage.call("GET", made.url, as: nil)
            #expect(answer.status == 200 && answer.text.contains("secret"))
            let query = String(made.url.dropFirst(made.location.count))
            let other = try #require(try stage.call("POST", "/llmchat", prompt("two"), as: made.ada)["Location"])
            #expect(try stage.call("GET", other + query, as: nil).status == 404)
            #expect(try stage.call("GET", "/conversations/shop" + query, as: nil).status == 403)
            #expect(try stage.call("DELETE", made.url, as: nil).status == 401)
            #expect(try stage.call("POST", "/links" + query, #"{"conversation":"shop"}"#, as: nil).status == 401)
        }
    }

    @Test func linkOpensNothingBesideItsTarget() async throws {
        try await onReply { made in
            let stage = made.stage
            let ofConversation = try link(stage, #"{"conversation":"shop"}"#, as: made.ada)
            for url in [made.url, ofConversation] {
                let query = "?" + String(try #require(url.split(separator: "?").last))
                for path in [
                    "/usage", "/getchatts", "/models", "/session", "/conversations", "/v1/models", "/api/tags",
                    "/api/ps",
                    "/api/version",
                ] {
                    let refusal = try stage.call("GET", path + query, as: nil)
                    #expect(refusal.status == 403, "\(path): \(refusal.text)")
                }
            }
        }
    }

    /// A link that a page has made ends with the session of the page.
    @Test func linkEndsWithTheSessionBehindIt() async throws {
        try await onReply { made in
            let stage = made.stage
            let session = try stage.call("POST", "/session", as: made.ada, fields: [("X-Chatterd-Session", "1")])
            let cookie = String(try #require(session["Set-Cookie"]?.split(separator: ";").first))
            let fields = [("Cookie", cookie), ("X-Chatterd-Session", "1")]
            let ofSession = try stage.call("POST", "/links", #"{"conversation":"shop"}"#, as: nil, fields: fields)
            let url = try #require(ofSession.json["url"] as? String).replacing("/events?", with: "?")
            #expect(try stage.call("GET", url, as: nil).status == 200)
            #expect(try stage.call("DELETE", "/session", as: nil, fields: fields).status == 200)
            while try stage.call("GET", url, as: nil).status == 200 {}
            #expect(try stage.call("GET", made.url, as: nil).status == 200)
        }
    }

    @Test func linkToAResponseShowsNothingOfItsRequest() async throws {
        try await onReply { made in
            let stage = made.stage
            let body = #"{"model":"tiny","input":"my prompt","instructions":"my instructions"}"#
            let answer = try stage.call("POST", "/v1/responses", body, as: made.ada)
            let id = try #require(answer.json["id"] as? String)
            let url = try link(stage, #"{"reply":"\#(id.dropFirst("resp_".count))"}"#, as: made.ada)
            let query = "?" + String(try #require(url.split(separator: "?").last))
            let shown = try stage.call("GET", "/v1/responses/\(id)" + query, as: nil)
            #expect(shown.status == 200 && shown.text.contains("secret") && !shown.text.contains("my instructions"))
            #expect(try stage.call("GET", "/v1/responses/\(id)/input_items" + query, as: nil).status == 403)
            let own = try stage.call("GET", "/v1/responses/\(id)", as: made.ada)
            #expect(own.text.contains("my instructions"))
            #expect(try stage.call("GET", "/v1/responses/\(id)", as: made.key).status == 404)
        }
    }

    @Test func linkOfAConversationReadsItAndItsReplies() async throws {
        try await onReply { made in
            let stage = made.stage
            let url = try link(stage, #"{"conversation":"shop"}"#, as: made.ada)
            let query = "?" + String(try #require(url.split(separator: "?").last))
            #expect(try stage.call("GET", made.location + query, as: nil).status == 200)
            #expect(try stage.call("GET", "/conversations/shop" + query, as: nil).status == 200)
            #expect(try stage.call("GET", "/conversations/other" + query, as: nil).status == 403)
        }
    }

    @Test func changedLinkIsRefused() async throws {
        try await onReply { made in
            let link = String(made.url.dropFirst(made.location.count))
            for changed in [String(link.dropLast()), link + "A", Stage.changed(link), "?link=", "?link=a.b"] {
                let refusal = try made.stage.call("GET", made.location + changed, as: nil)
                #expect(refusal.status == 401, "\(changed)")
            }
        }
    }

    @Test func linkEndsWithTheCredentialBehindIt() async throws {
        try await onReply { made in
            let stage = made.stage
            let ofKey = try link(stage, #"{"conversation":"shop"}"#, as: made.key)
            #expect(try stage.call("DELETE", "/people/ada", as: made.key).status == 200)
            while try stage.call("GET", made.url, as: nil).status == 200 {}
            let query = "?" + String(try #require(ofKey.split(separator: "?").last))
            // The app itself has no such conversation.
            let path = "/conversations/shop" + query
            #expect(try stage.call("GET", path, as: nil).status == 404)
            #expect(try stage.call("DELETE", "/keys/\(Stage.id(of: made.key))", as: testAdminToken).status == 200)
            // Each event loop forgets it separately.
            while try stage.call("GET", path, as: nil).status == 404 {}
        }
    }

    @Test func linkExpires() async throws {
        try await onReply { made in
            let id = made.location.dropFirst("/replies/".count)
            let url = try link(made.stage, #"{"reply":"\#(id)","expires_in":1}"#, as: made.ada)
            while try made.stage.call("GET", url, as: nil).status == 200 {}
            let refusal = try made.stage.call("GET", url, as: nil)
            #expect(refusal.status == 401 && refusal.text.contains("expired"))
        }
    }

    @Test func linkToWhatThePrincipalCannotReadIsRefused() async throws {
        try await onReply { made in
            let stage = made.stage
            let bob = try stage.makeToken(made.key, person: "bob")
            let id = made.location.dropFirst("/replies/".count)
            #expect(try stage.call("POST", "/links", #"{"reply":"\#(id)"}"#, as: bob).status == 404)
            let limited = try stage.makeToken(made.key, person: "ada", adding: #","conversations":["trip"]"#)
            #expect(try stage.call("POST", "/links", #"{"reply":"\#(id)"}"#, as: limited).status == 404)
            #expect(try stage.call("POST", "/links", #"{"conversation":"shop"}"#, as: limited).status == 403)
            for body in ["{}", #"{"reply":"x"}"#, #"{"reply":"\#(id)","conversation":"shop"}"#] {
                #expect([404, 422].contains(try stage.call("POST", "/links", body, as: made.ada).status), "\(body)")
            }
            #expect(try stage.call("POST", "/links", #"{"conversation":"shop"}"#, as: testAdminToken).status == 403)
        }
    }
}
