import ChatterdChat
import ChatterdHTTPClient
import ChatterdModelServers
import Testing

/// The origin of a server, from the usual forms of its URL.
@Suite(.timeLimit(.minutes(30))) struct UpstreamOriginTests {
    @Test(arguments: [
        (UpstreamDescription.Kind.ollama, "", ""), (.ollama, "/", ""), (.ollama, "/api", ""), (.ollama, "/api/", ""),
        (.ollama, "/api/chat", ""), (.ollama, "/v1", ""), (.ollama, "/base", "/base"),
        (.ollama, "/base/api/chat", "/base"),
        (.openai, "", "/v1"), (.openai, "/", "/v1"), (.openai, "/v1", "/v1"), (.openai, "/v1/", "/v1"),
        (.openai, "/v1/chat/completions", "/v1"), (.openai, "/chat/completions", "/v1"),
        (.openai, "/v1/openai/v1", "/v1/openai/v1"), (.openai, "/api/v1/chat/completions", "/api/v1"),
        (.openai, "/api", "/api"), (.openai, "/api/chat", "/v1"), (.openai, "/v1beta/openai/", "/v1beta/openai"),
        (.llamastack, "", ""), (.llamastack, "/v1", ""), (.llamastack, "/v1/inference/chat-completion", ""),
        (.llamastack, "/stack/v1/", "/stack"),
    ])
    func basePathDependsOnTheKind(kind: UpstreamDescription.Kind, path: String, base: String) throws {
        let description = UpstreamDescription(name: "a", kind: kind, url: "http://host:1234" + path)
        let origin = try description.origin()
        #expect(origin.basePath == base)
        #expect(origin.authority == "host:1234")
    }

    @Test func urlWithoutASchemeIsRejected() {
        #expect(throws: (any Error).self) {
            try UpstreamDescription(name: "a", kind: .openai, url: "localhost:8000").origin()
        }
    }
}
