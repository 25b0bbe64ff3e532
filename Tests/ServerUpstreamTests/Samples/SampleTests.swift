import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdJSONLog
import ChatterdPostgresStore
import ChatterdServer
import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// Recorded answers of real model servers, from their bytes to the bytes of the client and the rows.
@Suite(.timeLimit(.minutes(30))) struct SampleTests {
    static let servers = [
        ollamaSamples, oldOllamaSamples, ollamaOpenAISamples, oldOllamaOpenAISamples, llamaServerSamples, vLLMSamples,
        llamaStackSamples, oldLlamaStackSamples, llamaCppPythonSamples, liteLLMSamples,
    ]

    @Test(arguments: servers)
    func clientAndStoreHaveTheSameText(_ server: SampleServer) async throws {
        try await onThread {
            let scripts = Dictionary(uniqueKeysWithValues: server.samples.map { ($0.name, $0.steps) })
            let upstream = try ScriptedUpstream { request in
                request.text.flatMap { scripts[$0] } ?? .error(400, "no such sample")
            }
            let entry =
                "\"name\":\"server\",\"kind\":\"\(server.kind)\",\"url\":\"\(upstream.url)\",\"models\":[\"tiny\"]"
            let stage = try Stage(environment: [.upstreams: "[{\(entry)}]"])
            defer { #expect(throws: Never.self) { try stage.stop() } }
            for (index, sample) in server.samples.enumerated() {
                let exchange = try stage.chat("\(index)", sample.name)
                let transcript = Transcript(exchange)
                transcript.check()
                #expect(withoutOurTimes(exchange.text, in: sample) == sample.stream, "\(sample.name)")
                let rows = try stage.rows("\(index)")
                #expect(rows.map(\.role) == ["user", "assistant"], "\(sample.name)")
                let reply = try #require(rows.last)
                #expect(
                    [reply.role, reply.text, reply.state, reply.thinking, reply.extras] == sample.row, "\(sample.name)")
            }
        }
    }

    /// The stream with `TIME` for each time of chatterd.
    private func withoutOurTimes(_ stream: String, in sample: Sample) -> String {
        let own = sample.chunks.joined()
        var stream = stream
        for match in stream.matches(of: /"created_at":"([^"]*)"/) where !own.contains(match.output.1) {
            stream.replace(match.output.0, with: "\"created_at\":\"TIME\"")
        }
        return stream.replacing(/"total_duration":\d+/) { match in
            own.contains(match.output) ? String(match.output) : "\"total_duration\":TIME"
        }.withoutTimings
    }
}

extension UpstreamRequest {
    /// The text of the last message, in any dialect.
    fileprivate var text: String? {
        ((json["messages"] as? [[String: Any]])?.last?["content"]) as? String
    }
}
