import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdTestSupport
import Testing

/// Requests that are refused because of their head. No handler sees them, and the server does not wait for their body.
@Suite(.timeLimit(.minutes(30))) struct HeadRefusalTests {
    private func makeServer(_ calls: Gate = Gate()) throws -> TestServer {
        var policy = BrowserPolicy(hosts: [], openRoutes: ["/healthz"])
        policy.origins = Set(["https://app.example"].compactMap { WebOrigin(parsing: $0) })
        policy.requestFields = [.contentType, .idempotencyKey]
        return try TestServer(policy: policy) {
            $0.addUsualRoutes()
            $0.on(.post, "/llmchat") { _, responder in
                calls.open()
                responder.respond(.ok, fields: [.location: "/replies/1"])
            }
            $0.on(.get, "/healthz") { _, responder in responder.respond(.ok) }
            let check: HeadCheck = { head in
                head.fields.contains(.authorization)
                    ? nil
                    : Refusal(.unauthorized, code: "unauthorized", message: "No.", fields: [.wwwAuthenticate: "Bearer"])
            }
            $0.on(.post, "/secret", check: check) { request, responder in
                responder.respond(.ok, body: request.body.bytes)
            }
        }
    }

    @Test(arguments: [
        ("/llmchat", "Host: evil.example\r\n", 421, "misdirected_request"),
        ("/llmchat", "Host: localhost\r\nOrigin: https://evil.example\r\n", 403, "forbidden_origin"),
        ("/llmchat", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403, "forbidden_origin"),
        ("/nowhere", "Host: localhost\r\nOrigin: https://evil.example\r\n", 403, "forbidden_origin"),
        (
            "/llmchat", "Host: localhost\r\nOrigin: https://app.example\r\nContent-Type: text/plain\r\n", 415,
            "unsupported_media_type"
        ),
        ("/llmchat", "Host: localhost\r\nContent-Encoding: gzip\r\n", 415, "unsupported_content_encoding"),
        ("/secret", "Host: localhost\r\n", 401, "unauthorized"),
    ])
    func requestIsRefusedUnread(path: String, fields: String, status: Int, code: String) async throws {
        let calls = Gate()
        let test = try makeServer(calls)
        try await blocking {
            let client = try RawClient(port: test.port)
            // The body never comes.
            client.send("POST \(path) HTTP/1.1\r\n\(fields)Content-Length: 100\r\n\r\n")
            let exchange = try client.readResponse()
            #expect(exchange.status == status)
            #expect(exchange.json["code"] as? String == code)
            #expect(exchange["connection"] == "close")
        }
        #expect(!calls.isOpen)
        #expect(try test.records(1)[0].outcome == .refused(code))
    }

    @Test func refusalNamesTheAcceptedAlternative() async throws {
        let test = try makeServer()
        try await blocking {
            let body = Array("{}".utf8)
            let client = try RawClient(port: test.port)
            client.request("POST", "/llmchat", fields: [("Content-Encoding", "br")], body: body)
            #expect(try client.readResponse()["accept-encoding"] == "identity")
            client.request("POST", "/secret", body: body)
            #expect(try client.readResponse()["www-authenticate"] == "Bearer")
            client.request("POST", "/secret", fields: [("Authorization", "Bearer x")], body: body)
            #expect(try client.readResponse().text == "{}")
            client.request("PATCH", "/echo")
            let wrong = try client.readResponse()
            #expect(wrong["allow"] == "OPTIONS, POST")
            #expect((wrong.json["error"] as? String)?.contains("OPTIONS, POST") == true)
            client.request("GET", "/Stream/")
            let unknown = try client.readResponse()
            #expect(unknown.json["error"] as? String == "There is nothing at this path. Did you mean /stream?")
        }
    }

    @Test func openRouteIsServedToAll() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            client.send("GET /healthz HTTP/1.1\r\nHost: pod-7.cluster\r\nSec-Fetch-Site: cross-site\r\n\r\n")
            #expect(try client.readResponse().status == 200)
        }
    }

    @Test func listedOriginMayReadTheResponse() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            let fields = [("Origin", "https://app.example"), ("Content-Type", "application/json")]
            for (path, status) in [("/llmchat", 200), ("/nowhere", 404), ("/stream", 405)] {
                client.request("POST", path, fields: fields, body: Array("{}".utf8))
                let exchange = try client.readResponse()
                #expect(exchange.status == status)
                #expect(exchange["access-control-allow-origin"] == "https://app.example")
                for name in ["location", "x-conversation-id", "x-ignored-members"] {
                    #expect(exchange["access-control-expose-headers"]?.contains(name) == true, "\(name)")
                }
                #expect(exchange["access-control-allow-credentials"] == nil)
                #expect(exchange["vary"] == "origin")
            }
            client.request("GET", "/")
            let own = try client.readResponse()
            #expect(own["access-control-allow-origin"] == nil)
            #expect(own["vary"] == "origin")
        }
    }

    @Test func preflightOfAListedOriginIsAnswered() async throws {
        let test = try makeServer()
        try await blocking {
            let client = try RawClient(port: test.port)
            let asked = [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "content-type")]
            client.request("OPTIONS", "/llmchat", fields: [("Origin", "https://app.example")] + asked)
            let granted = try client.readResponse()
            #expect(granted.status == 204)
            #expect(granted["access-control-allow-origin"] == "https://app.example")
            #expect(granted["access-control-allow-methods"] == "OPTIONS, POST")
            #expect(granted["access-control-allow-headers"] == "content-type, idempotency-key")
            #expect(granted["access-control-max-age"] == "600")
            client.request("OPTIONS", "/llmchat", fields: [("Origin", "https://evil.example")] + asked)
            let refused = try client.readResponse()
            #expect(refused.status == 403)
            #expect(refused["access-control-allow-origin"] == nil)
            client.request("OPTIONS", "/llmchat", fields: asked)
            #expect(try client.readResponse()["access-control-allow-methods"] == nil)
        }
    }

    @Test func preflightOfAListedOriginIsAnsweredOnAllPaths() async throws {
        let test = try makeServer()
        let asked = "content-type, x-stainless-os"
        try await blocking {
            let client = try RawClient(port: test.port)
            let fields = [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", asked)]
            for path in ["/llmchat", "/secret", "/nowhere", "//llmchat"] {
                client.request("OPTIONS", path, fields: [("Origin", "https://app.example")] + fields)
                let granted = try client.readResponse()
                #expect(granted.status == 204, "\(path)")
                #expect(granted["access-control-allow-methods"]?.contains("POST") == true, "\(path)")
                #expect(
                    granted["access-control-allow-headers"] == "content-type, idempotency-key, x-stainless-os",
                    "\(path)")
            }
            client.request("OPTIONS", "/nowhere", fields: fields)
            #expect(try client.readResponse().status == 404)
        }
    }
}
