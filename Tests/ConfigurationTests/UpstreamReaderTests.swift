import ChatterdBasics
import ChatterdChat
import Testing

@testable import ChatterdConfiguration

/// The one JSON form of a model server's description.
@Suite(.timeLimit(.minutes(30))) struct UpstreamReaderTests {
    private static let defaults = UpstreamReader.Defaults(connectTimeout: .seconds(5), limits: GenerationLimits())

    private static let full = """
        {"name":"gpu-1","kind":"openai","url":"https://models.example/base","key_env":"GPU_API_KEY",\
        "headers":{"x-team":"blue"},"ca_file":"/keys/ca.pem","allow_link_local":true,\
        "models":["qwen3","llama3"],"aliases":{"fast":"qwen3","large":"llama3"},"priority":-7,"slots":4,\
        "queue_limit":20,"options":{"temperature":0.2},"keep_alive":"1h","context":8192,\
        "continuation":"continue_final_message","connect_timeout":"2s","first_byte_timeout":"10m",\
        "silence_timeout":"90s","total_timeout":"2h"}
        """

    private func read(
        _ text: String, _ source: UpstreamReader.Source = .request(keyDirectory: "/keys")
    ) throws -> UpstreamReader {
        try UpstreamReader(Array(text.utf8), source, defaults: Self.defaults)
    }

    private func document(_ description: UpstreamDescription) -> String {
        String(decoding: description.document(defaults: Self.defaults), as: UTF8.self)
    }

    @Test func allFieldsAreRead() throws {
        let reader = try read(Self.full)
        #expect(reader.problems == [])
        let upstream = try #require(reader.description)
        #expect(upstream.name == "gpu-1" && upstream.kind == .openai)
        #expect(upstream.url == "https://models.example/base")
        #expect(upstream.key == .environment("GPU_API_KEY"))
        #expect(upstream.fields == [UpstreamDescription.Field(name: "x-team", value: "blue")])
        #expect(upstream.authorities == "/keys/ca.pem" && upstream.allowsLinkLocal)
        #expect(upstream.models == ["qwen3", "llama3"])
        #expect(upstream.aliases == ["fast": "qwen3", "large": "llama3"])
        #expect(upstream.priority == -7 && upstream.slots == 4 && upstream.queueLimit == 20)
        #expect(upstream.defaults.map(\.key) == ["options", "keep_alive"])
        #expect(upstream.contextLength == 8_192 && upstream.continuation == .continueFinalMessage)
        #expect(upstream.connectTimeout == .seconds(2))
        #expect(upstream.limits.firstByte == .seconds(600) && upstream.limits.silence == .seconds(90))
        #expect(upstream.limits.total == .seconds(7_200))
    }

    @Test func writtenDescriptionReadsBackEqual() throws {
        let upstream = try #require(try read(Self.full).description)
        #expect(document(upstream) == Self.full)
        #expect(try read(document(upstream)).description == upstream)
    }

    @Test func absentMembersAreNotWrittenAndHaveTheProcessDefaults() throws {
        let text = #"{"name":"a","kind":"ollama","url":"http://h:11434"}"#
        let upstream = try #require(try read(text).description)
        #expect(document(upstream) == text)
        var other = Self.defaults
        other.limits.total = .seconds(7)
        let elsewhere = try UpstreamReader(Array(text.utf8), .table, defaults: other)
        #expect(elsewhere.description?.limits.total == .seconds(7))
    }

    @Test func givenKeyIsNeverWritten() throws {
        let text = #"{"name":"a","kind":"ollama","url":"http://h","key":"sesame"}"#
        let upstream = try #require(try read(text, .environment).description)
        #expect(upstream.key == .given("sesame"))
        #expect(document(upstream) == #"{"name":"a","kind":"ollama","url":"http://h","key":"set"}"#)
        var shown = "\(upstream)"
        dump(upstream, to: &shown)
        #expect(!shown.contains("sesame"))
        #expect(try read(document(upstream), .table).description?.key == .given(""))
    }

    @Test func nullCountsAsAbsentAndShownExtrasAreIgnored() throws {
        let text = #"{"name":"a","kind":"echo","models":null,"slots":null,"origin":"api","problem":"p"}"#
        let upstream = try #require(try read(text).description)
        #expect(upstream == UpstreamDescription(name: "a", kind: .echo))
    }

    @Test(arguments: [
        (#""name":"a b""#, ["name must be 1 to 64 letters, digits, dots, underscores and hyphens"]),
        (#""name":"ä""#, ["name must be 1 to 64 letters, digits, dots, underscores and hyphens"]),
        (#""name":"..""#, ["name must be 1 to 64 letters, digits, dots, underscores and hyphens"]),
        (#""url":"h:11434""#, [#"url: "h:11434" is not a URL: put http:// or https:// before it"#]),
        (#""url":"http://u:p@h""#, ["url: a URL must not hold a user or password; give a key in its own field"]),
        (#""key":"sesame""#, ["a key is not sent to the API: name it by key_env or key_file"]),
        (#""key_env":"A_KEY","key_file":"/keys/a""#, ["key_env and key_file are both set: keep one of them"]),
        (#""key_env":"PATH""#, ["key_env must be the name of a variable that ends in _KEY or _TOKEN"]),
        (#""key_env":"CHATTERD_ADMIN_TOKEN""#, ["key_env must be the name of a variable that is not chatterd's own"]),
        (#""key_env":"A=B_KEY""#, ["key_env must be the name of a variable that is not chatterd's own"]),
        (#""key_file":"keys/a""#, ["key_file must be a path that begins with a slash"]),
        (#""key_file":"/etc/passwd""#, ["key_file must be below CHATTERD_KEY_DIR, /keys"]),
        (#""key_file":"/keys/../etc/passwd""#, ["key_file must be below CHATTERD_KEY_DIR, /keys"]),
        (#""key_file":"/keysmith""#, ["key_file must be below CHATTERD_KEY_DIR, /keys"]),
        (#""key_file":"/keys/""#, ["key_file must be below CHATTERD_KEY_DIR, /keys"]),
        (#""ca_file":"/etc/ca.pem""#, ["ca_file must be below CHATTERD_KEY_DIR, /keys"]),
        (#""headers":{"a b":"c"}"#, ["headers must be an object of field names and values"]),
        (#""headers":{"a":"b\r\nc: d"}"#, ["headers must be an object of field names and values"]),
        (#""headers":["a"]"#, ["headers must be an object of field names and values"]),
        (
            #""headers":{"Authorization":"Bearer x"}"#,
            ["headers must hold no secret such as authorization: use key_env or key_file"]
        ),
        (#""headers":{"Host":"h"}"#, ["headers must not hold host: chatterd sets it"]),
        (#""allow_link_local":"yes""#, ["allow_link_local must be true or false"]),
        (#""models":"m""#, ["models must be a list of names"]),
        (#""models":["m",""]"#, ["models must be a list of names"]),
        (#""aliases":{"a":1}"#, ["aliases must be an object of names with the model of each"]),
        (#""priority":1.5"#, ["priority must be a whole number, -1000 to 1000"]),
        (#""slots":0"#, ["slots must be a whole number, 1 to 10000"]),
        (#""slots":"4""#, ["slots must be a whole number, 1 to 10000"]),
        (#""queue_limit":-1"#, ["queue_limit must be a whole number, 0 to 1000000"]),
        (#""options":[]"#, ["options must be an object"]),
        (#""keep_alive":true"#, ["keep_alive must be a string or a number"]),
        (#""context":9999999999"#, ["context must be a whole number, 256 to 2147483648"]),
        (#""continuation":"maybe""#, ["continuation must be one of none, prefill, continue_final_message"]),
        (#""total_timeout":"25h""#, ["total_timeout: 25h is out of bounds: 10ms to 24h"]),
        (#""total_timeout":[]"#, [#"total_timeout must be a duration such as "30s""#]),
        (
            #""slots":-1,"priority":"high","models":7"#,
            [
                "models must be a list of names", "priority must be a whole number, -1000 to 1000",
                "slots must be a whole number, 1 to 10000",
            ]
        ),
    ])
    func mistakesAreReportedWithTheirField(_ members: String, expected: [String]) throws {
        let usual = [#""name":"a""#, #""kind":"ollama""#, #""url":"http://h""#].filter { member in
            !members.contains(member.prefix { $0 != ":" } + ":")
        }
        let reader = try read("{\((usual + [members]).joined(separator: ","))}")
        #expect(reader.problems == expected)
        #expect(reader.description == nil)
    }

    @Test func requestNamesNoFilesWithoutAKeyDirectory() throws {
        let reader = try read(
            #"{"name":"a","kind":"ollama","url":"http://h","key_file":"/keys/a"}"#, .request(keyDirectory: nil))
        #expect(reader.problems == ["key_file is taken only with CHATTERD_KEY_DIR, which is not set"])
    }

    @Test(arguments: ["", "[]", "{", "{\"name\":\"a\"} x", "{\"name\":\"\u{1}\"", "7"])
    func textThatIsNoObjectIsRefused(_ text: String) {
        #expect(throws: JSONError.self) { try read(text) }
    }
}
