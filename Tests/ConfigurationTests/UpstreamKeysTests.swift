import ChatterdChat
import Testing

@testable import ChatterdConfiguration

@Suite(.timeLimit(.minutes(30))) struct UpstreamKeysTests {
    private static func keys(own: [UpstreamDescription] = []) -> UpstreamKeys {
        UpstreamKeys(
            environment: ["GPU_API_KEY": "k1", "PLAIN": "k2", "EMPTY_KEY": "", "BAD_TOKEN": "a b"], own: own
        ) { path in
            path == "/keys/a" ? .success(" \tfrom-file\r\n") : .failure(.init(reason: "No such file or directory"))
        }
    }

    private static func upstream(_ key: UpstreamDescription.Key?, url: String = "http://h") -> UpstreamDescription {
        var upstream = UpstreamDescription(name: "a", kind: .ollama, url: url)
        upstream.key = key
        return upstream
    }

    @Test(arguments: [
        (UpstreamDescription.Key.environment("GPU_API_KEY"), "k1"), (.file("/keys/a"), "from-file"), (nil, nil),
    ])
    func keyIsFound(_ key: UpstreamDescription.Key?, value: String?) throws {
        #expect(try Self.keys().key(of: Self.upstream(key))?.value == value)
    }

    @Test(arguments: [
        (UpstreamDescription.Key.environment("PLAIN"), "the variable PLAIN with its key is not set"),
        (.environment("EMPTY_KEY"), "the variable EMPTY_KEY with its key is not set"),
        (.environment("BAD_TOKEN"), "its key is empty, or not visible ASCII characters"),
        (.file("/keys/b"), "its key file /keys/b cannot be read: No such file or directory"),
        (.given(""), "its key stands in another process's CHATTERD_UPSTREAMS only"),
    ])
    func missingKeyIsReportedWithItsReason(_ key: UpstreamDescription.Key, problem: String) {
        #expect(throws: UpstreamKeys.Problem(message: problem)) { try Self.keys().key(of: Self.upstream(key)) }
    }

    @Test func variableOfTheConfigurationMayHaveAnyName() throws {
        let upstream = Self.upstream(.environment("PLAIN"))
        #expect(try Self.keys(own: [upstream]).key(of: upstream)?.value == "k2")
    }

    @Test func keyOfTheConfigurationIsSentToItsOwnURLOnly() throws {
        let keys = Self.keys(own: [Self.upstream(.given("sesame"))])
        #expect(try keys.key(of: Self.upstream(.given("")))?.value == "sesame")
        #expect(throws: UpstreamKeys.Problem.self) {
            try keys.key(of: Self.upstream(.given(""), url: "http://elsewhere"))
        }
    }

    @Test func keysAreNotShown() {
        var shown = "\(Self.keys(own: [Self.upstream(.given("sesame"))]))"
        dump(Self.keys(own: [Self.upstream(.given("sesame"))]), to: &shown)
        #expect(!shown.contains("sesame") && !shown.contains("k1"))
    }
}
