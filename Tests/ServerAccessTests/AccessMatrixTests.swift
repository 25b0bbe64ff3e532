import ChatterdConfiguration
import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServerTestSupport

/// Every endpoint with every kind of credential, in both modes, against docs/access-matrix.md: no stranger gets a byte of ada's
/// conversation or changes a row of it.
@Suite(.timeLimit(.minutes(30))) struct AccessMatrixTests {
    /// The credentials, in the order of the columns.
    private static let columns = [
        "none", "wrong key", "wrong token", "expired", "revoked", "other app", "other person", "correct",
    ]

    /// One request of the matrix. `:id` stands for ada's reply, `:key` for a key that the request may end.
    private struct Line {
        let method: String
        let path: String
        let body: String?
        /// Whether the administrator's token is the correct credential, and a key of the app that of others.
        let isAdmin: Bool
        /// Whether the app's key is the correct credential.
        let needsKey: Bool

        init(_ method: String, _ path: String, _ body: String? = nil, isAdmin: Bool = false, needsKey: Bool = false) {
            self.method = method
            self.path = path
            self.body = body
            self.isAdmin = isAdmin
            self.needsKey = needsKey
        }
    }

    private static let lines = [
        Line("GET", "/"), Line("GET", "/healthz"), Line("GET", "/readyz"), Line("GET", "/openapi.json"),
        Line("GET", "/page/app.js"), Line("GET", "/page/settings.json"),
        Line("POST", "/llmchat", prompt("p", adding: #","conversation":"trip""#)),
        Line("POST", "/llmchat", prompt("p", adding: #","appID":"shop","conversation":"trip""#)),
        Line("POST", "/llmtools", prompt("p", adding: #","appID":"shop","conversation":"trip""#)),
        Line(
            "POST", "/llmprep",
            #"{"model":"tiny","appID":"shop","conversation":"trip","messages":[{"role":"system","content":"s"}]}"#),
        Line("POST", "/llmprompt", #"{"model":"tiny","prompt":"p"}"#),
        Line("GET", "/replies/:id"), Line("GET", "/replies/:id?appID=shop"),
        Line("POST", "/replies/:id/regenerate"), Line("POST", "/replies/:id/choose"),
        Line("POST", "/replies/:id/approvals", #"{"round":0,"index":0,"approve":true}"#),
        Line("DELETE", "/replies/:id"),
        Line("GET", "/replies/00000000-0000-4000-8000-000000000000"),
        Line("GET", "/conversations"), Line("GET", "/conversations?appID=shop"),
        Line("GET", "/conversations?q=answer"),
        Line("POST", "/conversations", #"{"conversation":"new"}"#),
        Line("GET", "/conversations/trip"), Line("GET", "/conversations/trip?appID=shop"),
        Line("GET", "/conversations/shop%1Fada%1Ftrip"),
        Line("PATCH", "/conversations/trip", #"{"title":"t"}"#), Line("GET", "/conversations/trip/export"),
        Line("POST", "/conversations/trip/fork", "{}"), Line("POST", "/conversations/trip/import", "{}"),
        Line("HEAD", "/conversations/trip/events"), Line("POST", "/conversations/trip/title", #"{"model":"tiny"}"#),
        Line("GET", "/usage"), Line("GET", "/usage?app=other"),
        Line("POST", "/links", #"{"conversation":"trip"}"#), Line("POST", "/links", #"{"reply":":id"}"#),
        Line("GET", "/session"), Line("POST", "/session"), Line("DELETE", "/session"),
        Line("POST", "/postchatt", #"{"username":"u","message":"m"}"#), Line("GET", "/getchatts"),
        Line("GET", "/weather"),
        Line("GET", "/models"),
        Line("POST", "/v1/chat/completions", #"{"model":"tiny","messages":[{"role":"user","content":"p"}]}"#),
        Line("GET", "/v1/models"), Line("GET", "/v1/models/none"),
        Line("POST", "/api/chat", #"{"model":"tiny","messages":[{"role":"user","content":"p"}]}"#),
        Line("POST", "/api/generate", #"{"model":"tiny","prompt":"p"}"#), Line("GET", "/api/tags"),
        Line("GET", "/api/ps"), Line("POST", "/api/show", #"{"model":"none"}"#), Line("GET", "/api/version"),
        Line("POST", "/api/embed", #"{"model":"tiny","input":"p"}"#),
        Line("POST", "/api/embeddings", #"{"model":"tiny","prompt":"p"}"#),
        Line("POST", "/api/pull", #"{"model":"tiny"}"#, isAdmin: true),
        Line("POST", "/api/push", #"{"model":"tiny"}"#, isAdmin: true),
        Line("POST", "/api/create", #"{"model":"tiny"}"#, isAdmin: true),
        Line("POST", "/api/copy", #"{"source":"tiny","destination":"copy"}"#, isAdmin: true),
        Line("DELETE", "/api/delete", #"{"model":"tiny"}"#, isAdmin: true),
        Line("HEAD", "/api/blobs/sha256:00"), Line("POST", "/api/blobs/sha256:00"),
        Line("POST", "/v1/completions", #"{"model":"tiny","prompt":"p"}"#),
        Line("POST", "/v1/embeddings", #"{"model":"tiny","input":"p"}"#),
        Line("GET", "/v1/conversations/trip/items"), Line("GET", "/v1/conversations/trip/items/msg_:id"),
        Line("POST", "/v1/conversations/trip/items", "{}"), Line("DELETE", "/v1/conversations/trip/items/msg_:id"),
        Line(
            "POST", "/v1/messages", #"{"model":"tiny","max_tokens":1,"messages":[{"role":"user","content":"p"}]}"#),
        Line("POST", "/v1/messages/count_tokens", #"{"model":"tiny","messages":[{"role":"user","content":"p"}]}"#),
        Line("POST", "/tokens", #"{"person":"eve"}"#, needsKey: true), Line("DELETE", "/people/eve", needsKey: true),
        Line("GET", "/keys", isAdmin: true), Line("POST", "/keys", #"{"app":"new"}"#, isAdmin: true),
        Line("POST", "/keys/:key/rotate", "{}", isAdmin: true), Line("DELETE", "/keys/:key", isAdmin: true),
        Line("GET", "/audit", isAdmin: true), Line("GET", "/upstreams", isAdmin: true),
        Line("POST", "/upstreams", "{}", isAdmin: true), Line("GET", "/upstreams/none", isAdmin: true),
        Line("PUT", "/upstreams/none", "{}", isAdmin: true), Line("POST", "/upstreams/none/test", isAdmin: true),
        Line("DELETE", "/upstreams/none", isAdmin: true),
        Line("DELETE", "/conversations/trip"), Line("DELETE", "/conversations?all=1"),
    ]

    /// The credentials of the columns; `nil` for none.
    private struct Credentials {
        let strangers: [String?]
        let ada: String
        let key: String
        /// The id of a key that the requests of administrators may end.
        let spare: String
    }

    private static func credentials(_ stage: Stage) throws -> Credentials {
        let (key, revoked) = (try stage.makeKey("shop"), try stage.makeKey("shop"))
        let expired = try stage.makeToken(key, person: "ada", adding: #","expires_in":1"#)
        let ada = try stage.makeToken(key, person: "ada")
        #expect(try stage.call("DELETE", "/keys/\(Stage.id(of: revoked))", as: testAdminToken).status == 200)
        for credential in [expired, revoked] {
            while try stage.call("GET", "/models", as: credential).status == 200 {}
        }
        let other = try stage.makeToken(try stage.makeKey("other"), person: "ada")
        return Credentials(
            strangers: [
                nil, Stage.changed(key), Stage.changed(ada), expired,
                revoked,
                other, try stage.makeToken(key, person: "bob"),
            ], ada: ada, key: key, spare: Stage.id(of: try stage.makeKey("spare")))
    }

    /// The rows of ada's conversations. Those of requests without an identity come and go.
    private static func rows(_ stage: Stage) throws -> [[String]] {
        try stage.cluster.query(
            """
            SELECT encode(convert_to(r, 'UTF8'), 'hex') FROM (
                SELECT c::text FROM chatts c WHERE starts_with(c.appid, E'shop\\x1fada\\x1f')
                UNION ALL SELECT v::text FROM chatterd_conversations v WHERE starts_with(v.appid, E'shop\\x1fada\\x1f')
            ) AS t (r) WHERE position(E'\\x1e' IN r) = 0 ORDER BY 1
            """, database: stage.database)
    }

    /// The table of a server, whose upstream answers ada with a secret.
    private static func matrix(_ stage: Stage) throws -> [String] {
        let credentials = try credentials(stage)
        var table = [
            "| request | " + columns.joined(separator: " | ") + " |",
            "| --- |" + String(repeating: " --- |", count: columns.count),
        ]
        for (number, line) in lines.enumerated() {
            let trip = "trip\(number)"
            let made = try stage.call(
                "POST", "/llmchat", prompt("secret prompt", adding: #","conversation":"\#(trip)""#), as: credentials.ada
            )
            let id = try #require(made["Location"]).dropFirst("/replies/".count)
            let before = try rows(stage)
            func call(_ credential: String?) throws -> HTTPExchange {
                func filled(_ text: String) -> String {
                    text.replacing(":id", with: id).replacing(":key", with: credentials.spare).replacing(
                        "trip", with: trip)
                }
                return try stage.call(line.method, filled(line.path), line.body.map(filled), as: credential)
            }
            // In `open` mode, every client that knows the id of a reply may read and stop it (docs/api.md).
            let isOpenByID = line.path.hasPrefix("/replies/:id")
            var statuses: [Int] = []
            for stranger in credentials.strangers {
                let answer = try call(stranger)
                statuses.append(answer.status)
                guard !isOpenByID || stranger != nil else { continue }
                #expect(!answer.text.contains(/secret (prompt|answer)/), "\(line.method) \(line.path): \(answer.text)")
            }
            if !isOpenByID || statuses[0] >= 400 {
                #expect(try rows(stage) == before, "\(line.method) \(line.path)")
            }
            let correct = line.isAdmin ? testAdminToken : line.needsKey ? credentials.key : credentials.ada
            statuses.append(try call(correct).status)
            table.append(
                "| `\(line.method) \(line.path)` | " + statuses.map { String($0) }.joined(separator: " | ") + " |")
        }
        return table
    }

    @Test(arguments: ["open", "keys"]) func strangersGetNoForeignByte(mode: String) async throws {
        let upstream = try ScriptedUpstream { request in
            .answer([request.messages.last == ["user", "secret prompt"] ? "secret answer" : "answer"])
        }
        let settings: [Setting: String] = [.access: mode, .adminToken: testAdminToken]
        try await onStage(upstream: upstream.url, environment: settings) { stage in
            let table = try Self.matrix(stage)
            let root = String(#filePath[..<(#filePath.firstRange(of: "/Tests/")?.lowerBound ?? #filePath.endIndex)])
            let document = try String(contentsOfFile: root + "/docs/access-matrix.md", encoding: .utf8)
            let heading = try #require(document.firstRange(of: "## `\(mode)`\n"))
            let listed = document[heading.upperBound...].split(separator: "\n").drop { !$0.hasPrefix("|") }
                .prefix { $0.hasPrefix("|") }
            let now = table.joined(separator: "\n")
            print("access matrix, \(mode):\n\(now)")
            #expect(listed.map(String.init) == table)
        }
    }

    // A release build has no switch for the checks.
    #if DEBUG
        /// A server without the checks of its handlers, beside one that made the conversations: strangers name the conversations and the
        /// replies of ada and of her app, and row-level security alone hides them.
        @Test(arguments: ["open", "keys"]) func strangersGetNoForeignByteWithoutHandlerChecks(mode: String) async throws
        {
            // The model repeats what it reads.
            let upstream = try ScriptedUpstream { request in
                .answer([request.messages.contains { $0.last?.contains("secret") == true } ? "secret answer" : "answer"]
                )
            }
            let settings: [Setting: String] = [.access: mode, .adminToken: testAdminToken]
            try await onStage(upstream: upstream.url, environment: settings) { stage in
                let unchecked = try stage.startAnother(hasHandlerChecks: false)
                defer { #expect(throws: Never.self) { try unchecked.stop() } }
                let (shop, other) = (try stage.makeKey("shop"), try stage.makeKey("other"))
                let ada = try stage.makeToken(shop, person: "ada")
                let strangers = [
                    other, try stage.makeToken(other, person: "ada"), try stage.makeToken(shop, person: "bob"),
                ]
                for (number, line) in Self.lines.enumerated() where !line.isAdmin && !line.needsKey {
                    for (owner, name) in [(ada, "trip\(number)"), (shop, "tour\(number)")] {
                        try Self.refuseStrangers(
                            line, to: name, of: owner, strangers, stage: stage, unchecked: unchecked)
                    }
                }
                // The owner reads her conversation there. Without row-level security strangers read it too: no handler has refused them.
                let page = try unchecked.call("GET", "/conversations/trip0", as: ada)
                #expect(page.text.contains("secret answer"), "\(page.text)")
                for table in ["chatts", "chatterd_conversations"] {
                    try stage.cluster.query("ALTER TABLE \(table) DISABLE ROW LEVEL SECURITY", database: stage.database)
                }
                let foreign = try unchecked.call("GET", "/conversations/tour0?appID=shop", as: other)
                #expect(foreign.text.contains("secret answer"), "\(foreign.text)")
            }
        }
    #endif

    /// Sends a request of strangers about a conversation that its owner makes.
    private static func refuseStrangers(
        _ line: Line, to name: String, of owner: String, _ strangers: [String], stage: Stage, unchecked: Stage
    ) throws {
        let body = prompt("secret prompt", adding: #","conversation":"\#(name)""#)
        let made = try stage.call("POST", "/llmchat", body, as: owner)
        let id = try #require(made["Location"]).dropFirst("/replies/".count)
        func filled(_ text: String) -> String { text.replacing(":id", with: id).replacing("trip", with: name) }
        let before = try ownedRows(stage, named: name)
        #expect(before.count == 3, "two messages and the conversation")
        for stranger in strangers {
            let answer = try unchecked.call(line.method, filled(line.path), line.body.map(filled), as: stranger)
            #expect(!answer.text.contains(/secret (prompt|answer)/), "\(line.method) \(line.path): \(answer.text)")
        }
        #expect(try ownedRows(stage, named: name) == before, "\(line.method) \(line.path)")
    }

    /// The rows of the conversations of a name that belong to the app `shop` or to its person ada.
    private static func ownedRows(_ stage: Stage, named name: String) throws -> [[String]] {
        try stage.cluster.query(
            """
            SELECT encode(convert_to(r, 'UTF8'), 'hex') FROM (
                SELECT appid, c::text FROM chatts c UNION ALL SELECT appid, v::text FROM chatterd_conversations v
            ) AS t (appid, r)
            WHERE starts_with(appid, E'shop\\x1f') AND NOT starts_with(appid, E'shop\\x1fbob\\x1f') AND appid LIKE '%\(name)'
            ORDER BY 1
            """, database: stage.database)
    }
}
