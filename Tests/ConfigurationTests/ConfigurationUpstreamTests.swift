import ChatterdChat
import ChatterdConfiguration
import ChatterdModelServers
import Testing

@Suite(.timeLimit(.minutes(30))) struct ConfigurationUpstreamTests {
    private let full = #"""
        [{"name": "gpu", "kind": "ollama", "url": "http://gpu.local:11434/", "key": "sesame",
          "models": ["llama3", "qwen3"], "connect_timeout": "2s", "first_byte_timeout": "10m",
          "silence_timeout": 90, "total_timeout": "2h"},
         {"name": "parrot", "kind": "echo", "models": ["parrot"]}]
        """#

    @Test func listIsRead() throws {
        let upstreams = try configuration(["CHATTERD_UPSTREAMS": full]).upstreams.list
        #expect(upstreams.map(\.name) == ["gpu", "parrot"], "the default Ollama gives way")
        let gpu = try #require(upstreams.first)
        #expect(gpu.kind == .ollama && gpu.url == "http://gpu.local:11434")
        #expect(gpu.key == .given("sesame"))
        #expect(gpu.models == ["llama3", "qwen3"])
        #expect(gpu.connectTimeout == .seconds(2))
        #expect(gpu.limits.firstByte == .seconds(600))
        #expect(gpu.limits.silence == .seconds(90))
        #expect(gpu.limits.total == .seconds(7_200))
        #expect(upstreams.last?.kind == .echo)
        #expect(upstreams.last?.limits == GenerationLimits())
    }

    @Test func listIsReadFromAFile() throws {
        #expect(
            try configuration(["CHATTERD_UPSTREAMS": "/u.json"], files: ["/u.json": full]).upstreams.list.count == 2)
        #expect(
            try configuration(["CHATTERD_UPSTREAMS_FILE": "/u.json"], files: ["/u.json": full]).upstreams.list.count
                == 2)
        #expect(problems(["CHATTERD_UPSTREAMS": "/absent.json"]).count == 1)
    }

    @Test func ollamaOfItsOwnVariableComesFirst() throws {
        let environment = ["CHATTERD_UPSTREAMS": full, "OLLAMA_URL": "https://o", "CHATTERD_ECHO": "1"]
        let upstreams = try configuration(environment).upstreams.list
        #expect(upstreams.map(\.name) == ["ollama", "gpu", "parrot", "echo"])
        #expect(upstreams.first?.kind == .ollama && upstreams.first?.url == "https://o")
        #expect(upstreams.last?.models == EchoVariant.allCases.map(\.modelName))
    }

    @Test func developmentOffersTheBuiltInModelUnlessItIsRefused() throws {
        for (echo, offered) in [(nil, true), ("1", true), ("0", false)] as [(String?, Bool)] {
            var environment = ["OLLAMA_URL": "http://o"]
            environment["CHATTERD_ECHO"] = echo
            var upstreams = try configuration(environment).upstreams
            upstreams.offerEcho()
            #expect(upstreams.list.contains { $0.name == "echo" } == offered, "\(echo ?? "not set")")
            #expect(upstreams.list.count == (offered ? 2 : 1))
        }
    }

    @Test func entriesHaveTheLimitsOfTheProcess() throws {
        let upstreams = try configuration(["CHATTERD_UPSTREAM_TOTAL_TIMEOUT": "1m", "CHATTERD_ANSWER_LIMIT": "1MiB"])
        #expect(upstreams.upstreams.list.first?.limits.total == .seconds(60))
        #expect(upstreams.upstreams.list.first?.limits.answer == 1 << 20)
    }

    @Test(arguments: [
        (#"{"name":"a","kind":"echo"}"#, "[ and ]"),
        (#"[{"name":"a","kind":"echo"}"#, "not a JSON list"),
        (#"[{"name":"a","kind":"echo"}] x"#, "not a JSON list"),
        ("[]", "lists no model server"),
        (#"[1]"#, "entry 1 is not an object"),
        (#"[{"kind":"echo"}]"#, "entry 1: name is missing"),
        (#"[{"name":"","kind":"echo"}]"#, "name must be a string"),
        (#"[{"name":7,"kind":"echo"}]"#, "entry 1: name must be a string"),
        (#"[{"name":"a"}]"#, "entry 1 (\"a\"): kind is missing"),
        (#"[{"name":"a","kind":"gemini"}]"#, "\"gemini\" is not a kind"),
        (#"[{"name":"a","kind":"ollama"}]"#, "url is missing"),
        (#"[{"name":"a","kind":"ollama","url":"ftp://h"}]"#, "entry 1 (\"a\"): url: \"ftp://h\" is not a URL"),
        (#"[{"name":"a","kind":"echo","url":"http://h"}]"#, "takes no url"),
        (#"[{"name":"a","kind":"echo","slot":1}]"#, "entry 1 (\"a\"): \"slot\" is not a field"),
        (#"[{"name":"a","name":"b","kind":"echo"}]"#, "name is given twice"),
        (#"[{"name":"a","kind":"echo"},{"name":"a","kind":"echo"}]"#, "the name \"a\" is taken twice"),
        (#"[{"name":"a","kind":"echo","models":"m"}]"#, "models must be a list"),
        (#"[{"name":"a","kind":"echo","models":["m",1]}]"#, "models must be a list"),
        (#"[{"name":"a","kind":"echo","total_timeout":"-1s"}]"#, "entry 1 (\"a\"): total_timeout: \"-1s\""),
        (#"[{"name":"a","kind":"echo","total_timeout":true}]"#, "total_timeout must be a duration"),
    ])
    func mistakeInAListIsReportedWithItsEntry(_ text: String, fragment: String) {
        let found = problems(["CHATTERD_UPSTREAMS": text])
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(fragment) == true, "\(found)")
    }

    @Test func allEntriesAreCheckedAndNoKeyIsQuoted() {
        let text = #"""
            [{"name":"a","kind":"ollama","url":"http://u:sesame@h","key":"ses\name"},
             {"name":"b","kind":"ollama","url":"http://h","key":["sesame"]},
             {"name":"ollama","kind":"x","key":"sesame"}]
            """#
        let found = problems(["CHATTERD_UPSTREAMS": text, "OLLAMA_URL": "http://h"])
        #expect(found.count == 4, "\(found)")
        #expect(!found.joined().contains("sesame"))
    }

    @Test(arguments: [
        ("http://h", "http://h"), ("https://h:443", "https://h"), ("HTTP://h:1/", "http://h:1"),
        ("http://[::1]:5/v1/", "http://[::1]:5/v1"), ("http://[::1]:80", "http://[::1]"),
        ("http://10.0.0.1:11434", "http://10.0.0.1:11434"), ("http://h:443", "http://h:443"),
        ("http://h:11434/api/", "http://h:11434/api"),
    ])
    func urlIsRead(_ text: String, meaning: String) throws {
        #expect(try configuration(["OLLAMA_URL": text]).upstreams.list.first?.url == meaning)
    }

    @Test(arguments: [
        "h", "h:11434", "http://", "http:///x", "http://:80", "http://h:0", "http://h:99999", "http://h:1/a?b",
        "http://h:1/#", "http://h h", "http://h\r\nX: y", "http://a:b:c", "http://u:p@h", "http://h/\u{e9}", "ftp://h",
        "//h",
    ])
    func invalidURLIsRefused(_ text: String) {
        #expect(problems(["OLLAMA_URL": text]).count == 1)
    }
}
