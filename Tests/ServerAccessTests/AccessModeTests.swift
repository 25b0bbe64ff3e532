import ChatterdConfiguration
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// The start of servers that need keys, and requests that a proxy has passed on.
@Suite(.timeLimit(.minutes(30))) struct AccessModeTests {
    @Test(arguments: ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via"])
    func forwardedRequestIsRefusedUnlessTheModeIsChosen(field: String) async throws {
        let upstream = try ScriptedUpstream.answering(["Hello"])
        let fields = [(field, "x")]
        try await onStage(upstream: upstream.url) { stage in
            let refusal = try stage.call("POST", "/llmchat", chatBody("app", "x"), as: nil, fields: fields)
            #expect(refusal.status == 403)
            #expect(refusal.text.contains("CHATTERD_ACCESS"))
            #expect(try stage.rows("app").isEmpty)
            #expect(try stage.call("GET", "/healthz", as: nil, fields: fields).status == 200)
        }
        try await onStage(upstream: upstream.url, environment: [.access: "open"]) { stage in
            Transcript(try stage.call("POST", "/llmchat", chatBody("app", "x"), as: nil, fields: fields)).check()
        }
    }

    @Test func serverBeyondTheLoopbackStartsOnlyWithAKey() async throws {
        try await onStage { stage in
            let beyond: [Setting: String] = [.listen: "0.0.0.0:0"]
            do {
                let open = try stage.startAnother(environment: beyond)
                try open.stop()
                Issue.record("the server started without a key")
            } catch let error as StartError {
                #expect(error.description.contains("chatterd keys create --app NAME"))
                #expect(error.description.contains("CHATTERD_ACCESS=open"))
            }
            var manager = beyond
            manager[.adminToken] = testAdminToken
            let first = try stage.startAnother(environment: manager)
            let key = try first.makeKey("shop")
            try first.stop()
            let second = try stage.startAnother(environment: beyond)
            #expect(try second.call("GET", "/models", as: nil).status == 401)
            #expect(try second.call("GET", "/models", as: key).status == 200)
            try second.stop()
        }
    }
}
