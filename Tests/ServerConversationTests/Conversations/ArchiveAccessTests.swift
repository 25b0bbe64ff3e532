import ChatterdConfiguration
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Whole conversations, with keys and tokens.
@Suite(.timeLimit(.minutes(30))) struct ArchiveAccessTests {
    @Test func conversationOfAnotherPersonIsUnknown() async throws {
        let upstream = try ScriptedUpstream.answering(["secret"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            let foreign = try stage.makeKey("other")
            let (ada, bob) = (try stage.makeToken(key, person: "ada"), try stage.makeToken(key, person: "bob"))
            let trip = #","conversation":"trip""#
            let location = try #require(
                try stage.call("POST", "/llmchat", prompt("x", adding: trip), as: ada)["Location"])
            let file = try stage.call("GET", "/conversations/trip/export", as: ada)
            #expect(file.status == 200 && file.text.contains("secret"))
            for credential in [bob, key, foreign] {
                for path in [
                    "/conversations/trip", "/conversations/shop", "/conversations/ada", "/conversations/trip/export",
                ] {
                    let answer = try stage.call("GET", path, as: credential)
                    #expect(
                        answer.status == 404 && answer.json["code"] as? String == "conversation_not_found", "\(path)")
                }
                let fork = try stage.call("POST", "/conversations/trip/fork", "{}", as: credential)
                #expect(fork.status == 404 && !fork.text.contains("secret"))
                // The app of another owner cannot be named either.
                let app = credential == foreign ? "shop" : "other"
                #expect(try stage.call("GET", "/conversations/trip?appID=\(app)", as: credential).status == 403)
            }
            // The copies of others are their own. The ids of their replies do not depend on the one in the file.
            let ids = try [bob, key, foreign].map { credential in
                let imported = try stage.call("POST", "/conversations/trip/import", file.text, as: credential)
                #expect(imported.status == 201 && imported["Location"] == "/conversations/trip")
                let page = try stage.call("GET", "/conversations/trip", as: credential).json
                let messages = page["messages"] as? [[String: Any]] ?? []
                return try #require(messages.last?["id"] as? String)
            }
            #expect(Set(ids + [String(location.dropFirst(9))]).count == 4)
            #expect(try stage.call("GET", "/conversations/trip/export", as: ada).body == file.body)
            // A reply of another owner is no end of a copy.
            let end = try stage.call(
                "POST", "/conversations/trip/fork", #"{"reply":"\#(location.dropFirst(9))"}"#, as: bob)
            #expect(end.status == 404 && end.json["code"] as? String == "reply_not_found")
        }
    }

    @Test func scopesAndConversationsOfACredentialCount() async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        try await onStage(upstream: upstream.url, environment: withKeys) { stage in
            let key = try stage.makeKey("shop")
            Transcript(try stage.call("POST", "/llmchat", prompt("x"), as: key)).check()
            let reader = try stage.makeKey("shop", adding: #","scopes":["read"]"#)
            let file = try stage.call("GET", "/conversations/shop/export", as: reader)
            #expect(file.status == 200)
            #expect(try stage.call("GET", "/conversations/shop", as: reader).status == 200)
            #expect(try stage.call("POST", "/conversations/shop/fork", "{}", as: reader).status == 403)
            #expect(try stage.call("POST", "/conversations/x/import", file.text, as: reader).status == 403)
            let token = try stage.makeToken(key, person: "ada", adding: #","conversations":["trip"]"#)
            #expect(try stage.call("POST", "/conversations/trip/import", file.text, as: token).status == 201)
            #expect(try stage.call("POST", "/conversations/other/import", file.text, as: token).status == 403)
            #expect(
                try stage.call("POST", "/conversations/trip/fork", #"{"conversation":"other"}"#, as: token).status
                    == 403)
            #expect(try stage.call("GET", "/conversations/other", as: token).status == 403)
            for (method, path) in [("GET", ""), ("GET", "/export"), ("POST", "/fork"), ("POST", "/import")] {
                #expect(try stage.call(method, "/conversations/shop" + path, as: nil).status == 401)
            }
        }
    }

    @Test func revokedKeyEndsItsExport() async throws {
        let environment = withKeys.merging([.unsentLimit: "64KiB", .shards: "1"]) { $1 }
        try await onStage(environment: environment) { stage in
            let key = try stage.makeKey("shop")
            try stage.cluster.query(
                """
                INSERT INTO chatts (appid, seq, name, message)
                SELECT 'shop', n, 'user', repeat('x', 5000000) FROM generate_series(1, 12) AS n
                """, database: stage.database)
            let client = try RawClient(port: stage.port, receiveBuffer: 4_096)
            client.request("GET", "/conversations/shop/export", fields: [("Authorization", "Bearer \(key)")])
            #expect(try client.readHead(of: "GET").status == 200)
            #expect(try stage.call("DELETE", "/keys/\(Stage.id(of: key))", as: testAdminToken).status == 200)
            let body = client.readBody()
            #expect(client.bodyEnd == .complete && body.count < 55_000_000)
            let last = body.split(separator: 10).last.map { String(decoding: $0, as: UTF8.self) } ?? ""
            #expect(last.hasPrefix("{\"error\":") && last.contains("\"code\":\"unauthorized\""))
        }
    }
}
