import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct RedirectTests {
    @Test(arguments: [301, 302, 303, 307, 308])
    func redirectIsAResponseAndNoOtherServerGetsTheKey(status: Int) async throws {
        try await blocking {
            let other = try ScriptedUpstream(.plain(200, "{}"))
            let upstream = try ScriptedUpstream(
                .plain(status, "elsewhere", fields: [("Location", other.url + "/api/chat")]))
            let key = try #require(FieldValue(validating: "Bearer s3cret"))
            let outcome = try ClientHarness().ask(
                OutgoingRequest(.post, "/api/chat", fields: [.authorization: key], body: Array("{}".utf8)),
                of: upstream.url)
            #expect(outcome.head.map { Int($0.status.code) } == status)
            #expect(outcome.text == "elsewhere")
            #expect(outcome.ends == 1)
            #expect(upstream.requests.map { $0["Authorization"] } == ["Bearer s3cret"])
            #expect(other.connectionCount == 0)
        }
    }
}
