import ChatterdCommand
import ChatterdConfiguration
import ChatterdDevelopmentCluster
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdServer
import ChatterdSockets
import Testing

private func configuration(
    _ environment: [String: String], files: [String: String] = [:],
    database: Configuration.DatabaseNeed = .optional
) throws(ConfigurationError) -> Configuration {
    try Configuration(environment: environment, database: database) { path in
        files[path].map { .success($0) } ?? .failure(.init(reason: "No such file or directory"))
    }
}

private func problems(
    _ environment: [String: String], files: [String: String] = [:],
    database: Configuration.DatabaseNeed = .optional
) -> [String] {
    do {
        _ = try configuration(environment, files: files, database: database)
        return []
    } catch {
        return error.problems
    }
}

@Suite(.timeLimit(.minutes(30))) struct ConfigurationTests {
    @Test func anEmptyEnvironmentGivesTheDefaults() throws {
        let configuration = try configuration([:])
        #expect(configuration.server.listen == HostAndPort(host: "127.0.0.1", port: 8080))
        #expect(configuration.server.tls == nil)
        #expect(configuration.server.shards >= 1)
        #expect(configuration.http.body.body == 8 << 20)
        #expect(configuration.http.idle == .seconds(75))
        #expect(configuration.relay.disconnectGrace == .seconds(30))
        #expect(configuration.upstreams.defaults.limits == GenerationLimits())
        #expect(configuration.store.database == .notGiven)
        #expect(configuration.log.appID == .hash)
        let upstream = try #require(configuration.upstreams.list.first)
        #expect(configuration.upstreams.list.count == 1)
        #expect(upstream.name == "ollama")
        #expect(upstream.kind == .ollama && upstream.url == "http://127.0.0.1:11434")
    }

    @Test(arguments: Setting.allCases)
    func everyDefaultIsAValueThatIsTaken(_ setting: Setting) {
        guard case .value(let text) = setting.entry.standard else { return }
        #expect(problems([setting.name: text]) == [])
    }

    @Test(arguments: Setting.allCases)
    func everyVariableIsReadAndRefusesNonsense(_ setting: Setting) {
        let found = problems([setting.name: "\u{1}nonsense -1"])
        switch setting.entry.kind {
        case .path: #expect(found.count == 1, "the other two of HTTPS are missing")
        default: #expect(found.contains { $0.hasPrefix(setting.name) }, "\(found)")
        }
    }

    @Test func namesAndOriginsAreLists() throws {
        let standard = try configuration([:]).server.browsers
        #expect(standard.hosts == [] && standard.origins.isEmpty)
        let given = try configuration([
            "CHATTERD_HOSTS": " Chat.Example,box ,, ", "CHATTERD_ORIGINS": "https://app.example, http://localhost:3000",
        ]).server.browsers
        #expect(given.hosts == Set(["chat.example", "box"].compactMap { HostName($0) }))
        #expect(
            given.origins
                == Set(["https://app.example", "http://localhost:3000"].compactMap { WebOrigin(parsing: $0) }))
        #expect(try configuration(["CHATTERD_HOSTS": "*"]).server.browsers.hosts == nil)
    }

    @Test(arguments: [
        ("CHATTERD_HOSTS", "chat.example:443"), ("CHATTERD_HOSTS", "https://chat.example"),
        ("CHATTERD_HOSTS", "*.example"),
        ("CHATTERD_ORIGINS", "*"), ("CHATTERD_ORIGINS", "null"), ("CHATTERD_ORIGINS", "app.example"),
        ("CHATTERD_ORIGINS", "https://app.example/"), ("CHATTERD_DEFAULT_MODEL", String(repeating: "m", count: 257)),
    ])
    func valueThatIsNoNameOrOriginIsAProblem(name: String, value: String) {
        let found = problems([name: "\(value)"])
        #expect(found.count == 1 && found[0].hasPrefix(name), "\(found)")
    }

    @Test func allProblemsAreToldAtOnce() {
        let found = problems([
            "CHATTERD_LISTEN": "8080", "CHATTERD_IDLE_TIMEOUT": "soon", "CHATTERD_BODY_LIMIT": "8MB",
            "CHATTERD_FOO": "1", "CHATTERD_ECHO": "yes",
        ])
        #expect(found.count == 5)
    }

    @Test(arguments: [
        ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("12", 12_000), ("0250ms", 250),
    ])
    func aDurationIsRead(_ text: String, milliseconds: Int) throws {
        #expect(try configuration(["CHATTERD_IDLE_TIMEOUT": text]).http.idle == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "-1s", "nan", "NaN", "inf", "1.5s", "1 s", " 1s", "1s ", "1d", "1S", "s", "0x10", "1e3", "+1", "٣s", "1s1s",
        "99999999999999999999999999h", "25h", "0", "99ms",
    ])
    func aDurationThatIsNoneOrAbsurdIsRefused(_ text: String) throws {
        let found = problems(["CHATTERD_IDLE_TIMEOUT": text])
        #expect(found.count == 1)
        #expect(found.first?.contains("100ms to 24h") == true, "the bounds are shown")
    }

    @Test func aRefusedDurationShowsTheRightForm() {
        #expect(
            problems(["CHATTERD_IDLE_TIMEOUT": "75 seconds"]) == [
                "CHATTERD_IDLE_TIMEOUT: \"75 seconds\" is not a duration such as 500ms, 30s, 5m or 1h "
                    + "(or a bare number of seconds), 100ms to 24h"
            ])
    }

    @Test(arguments: [("8MiB", 8 << 20), ("64KiB", 65_536), ("1GiB", 1 << 30), ("4096", 4_096)])
    func aSizeIsRead(_ text: String, bytes: Int) throws {
        #expect(try configuration(["CHATTERD_BODY_LIMIT": text]).http.body.body == bytes)
    }

    @Test(arguments: ["-1", "8MB", "8 MiB", "8M", "8mib", "1.5MiB", "nan", "MiB", "1", "2GiB", "99999999999GiB"])
    func aSizeThatIsNoneOrAbsurdIsRefused(_ text: String) {
        let found = problems(["CHATTERD_BODY_LIMIT": text])
        #expect(found.count == 1)
        #expect(found.first?.contains("1KiB to 1GiB") == true)
    }

    @Test(arguments: ["0", "-4", "4.0", "many", "101", "4KiB"])
    func aCountThatIsNoneOrAbsurdIsRefused(_ text: String) {
        #expect(problems(["CHATTERD_STORE_CONNECTIONS": text]).count == 1)
    }

    @Test func zeroTurnsTheGraceOff() throws {
        #expect(try configuration(["CHATTERD_DISCONNECT_GRACE": "0"]).relay.disconnectGrace == .zero)
    }

    @Test func anEmptyVariableIsOneThatIsNotSet() throws {
        #expect(try configuration(["CHATTERD_BODY_LIMIT": "", "CHATTERD_SHARDS": ""]).http.body.body == 8 << 20)
    }

    @Test(arguments: [
        ("CHATTERD_LISTN", "CHATTERD_LISTEN"), ("CHATTERD_MAX_CONNECTION", "CHATTERD_MAX_CONNECTIONS"),
        ("CHATTERD_LISTEN_FIEL", "CHATTERD_LISTEN_FILE"), ("CHATTERD_IDLE_TIME_OUT", "CHATTERD_IDLE_TIMEOUT"),
        ("CHATTERD_UPSTREAM", "CHATTERD_UPSTREAMS"),
    ])
    func anUnknownVariableIsRefusedWithTheNearestName(_ name: String, nearest: String) {
        #expect(problems([name: "1"]) == ["\(name) is not a variable of chatterd; did you mean \(nearest)?"])
    }

    @Test func variablesOfOthersAreLeftAlone() {
        #expect(problems(["PATH": "/bin", "OLLAMA_HOST": "x", "CHATTER_X": "1"]) == [])
    }

    @Test func descriptionShowsNoSecret() throws {
        let configuration = try configuration([
            "DATABASE_URL": "postgresql://u:hunter2@h/d", "CHATTERD_LISTEN": "127.0.0.1:1",
            "CHATTERD_UPSTREAMS": #"[{"name":"a","kind":"ollama","url":"http://h:1","key":"sesame"}]"#,
        ])
        #expect(configuration.description.contains("CHATTERD_LISTEN=127.0.0.1:1"))
        var dumped = configuration.description
        dump(configuration, to: &dumped)
        dumped += "\(configuration) \(configuration.store) \(String(reflecting: configuration.upstreams))"
        #expect(!dumped.contains("hunter2") && !dumped.contains("sesame"))
        #expect(configuration.secrets.contains("hunter2") && configuration.secrets.contains("sesame"))
    }

    @Test(arguments: [
        ["CHATTERD_TLS_LISTEN": ":8443"], ["CHATTERD_TLS_CERT": "/c.pem", "CHATTERD_TLS_KEY": "/k.pem"],
        ["CHATTERD_TLS_LISTEN": ":8443", "CHATTERD_TLS_KEY": "/k.pem"],
    ])
    func httpsNeedsAllThree(_ environment: [String: String]) {
        let found = problems(environment)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("HTTPS needs all of") == true)
    }

    @Test func httpsIsReadWithAllThree() throws {
        let configuration = try configuration([
            "CHATTERD_TLS_LISTEN": ":8443", "CHATTERD_TLS_CERT": "/c.pem", "CHATTERD_TLS_KEY": "/k.pem",
        ])
        let tls = try #require(configuration.server.tls)
        #expect(tls.listen == HostAndPort(host: "0.0.0.0", port: 8443))
        #expect(tls.certificate == "/c.pem" && tls.key == "/k.pem")
    }
}

@Suite(.timeLimit(.minutes(30))) struct ConfigurationFileTests {
    @Test func aVariableIsReadFromAFileWithoutItsLineEnd() throws {
        let configuration = try configuration(
            ["DATABASE_URL_FILE": "/run/secrets/db"], files: ["/run/secrets/db": "postgresql://h/d\n"])
        #expect(configuration.store.database == .conninfo(ConfigurationSecret("postgresql://h/d")))
    }

    @Test(arguments: Setting.allCases)
    func everyVariableIsReadFromAFileToo(_ setting: Setting) {
        #expect(
            problems([setting.fileName: "/absent"]).contains { $0.hasPrefix("\(setting.fileName): /absent cannot") })
    }

    @Test func theVariableAndItsFileTogetherAreRefused() {
        #expect(
            problems(["CHATTERD_LISTEN": ":1", "CHATTERD_LISTEN_FILE": "/f"], files: ["/f": ":2"]) == [
                "CHATTERD_LISTEN and CHATTERD_LISTEN_FILE are both set: keep one of them"
            ])
    }

    @Test func anEmptyFileIsRefused() {
        #expect(problems(["CHATTERD_LISTEN_FILE": "/f"], files: ["/f": "\n"]) == ["CHATTERD_LISTEN_FILE: /f is empty"])
    }

    @Test func aDirectoryAndAMissingFileCannotBeRead() {
        #expect(ConfigurationFile.read("/") == .failure(.init(reason: "Is a directory")))
        #expect(ConfigurationFile.read("/absent/file") == .failure(.init(reason: "No such file or directory")))
    }

    @Test func aFileWithoutEndOrWithNULIsRefused() {
        #expect(ConfigurationFile.read("/dev/zero") == .failure(.init(reason: "it is larger than 1MiB")))
        #expect(ConfigurationFile.read("/proc/self/cmdline") == .failure(.init(reason: "it is not UTF-8 text")))
    }
}

@Suite(.timeLimit(.minutes(30))) struct ConfigurationDatabaseTests {
    @Test func withoutADatabaseServeSaysWhatToDo() {
        let found = problems([:], database: .required)
        #expect(found.count == 1)
        #expect(found.first?.contains("DATABASE_URL") == true && found.first?.contains("serve --dev") == true)
    }

    @Test func developmentBringsItsOwnWhenNoneIsNamed() throws {
        #expect(try configuration([:], database: .privateClusterIfAbsent).store.database == .privateCluster)
        #expect(
            try configuration(["DATABASE_URL": "postgres://h/d"], database: .privateClusterIfAbsent).store.database
                == .conninfo(ConfigurationSecret("postgres://h/d")))
    }

    @Test(arguments: ["PGHOST", "PGHOSTADDR", "PGSERVICE", "PGDATABASE"])
    func libpqsOwnVariablesCountWithoutAURL(_ name: String) throws {
        #expect(try configuration([name: "x"], database: .required).store.database == .libpqEnvironment)
    }

    @Test func aRefusedDatabaseIsNotQuoted() {
        let found = problems(["DATABASE_URL": "hunter2@localhost"], database: .required)
        #expect(found.count == 1)
        #expect(found.first?.contains("hunter2") == false)
    }

    @Test(arguments: [
        ("postgresql://u:p%40ss@h1:1,h2:2/d?target_session_attrs=read-write", ["p%40ss", "p@ss"]),
        ("host=h password='a b' sslpassword=c", ["a b", "c"]), ("postgres://h/d?password=x&user=y", ["x"]),
        ("postgres://u@h/d", []), ("host=h dbname=d", []),
    ])
    func passwordsAreFoundInEveryForm(_ text: String, passwords: [String]) throws {
        let secrets = try configuration(["DATABASE_URL": text]).secrets
        for password in passwords {
            #expect(secrets.contains(password), "\(secrets)")
        }
        #expect(secrets.count >= passwords.count + 1)
    }
}

@Suite(.timeLimit(.minutes(30))) struct ConfigurationUpstreamTests {
    private let full = #"""
        [{"name": "gpu", "kind": "ollama", "url": "http://gpu.local:11434/", "key": "sesame",
          "models": ["llama3", "qwen3"], "connect_timeout": "2s", "first_byte_timeout": "10m",
          "silence_timeout": 90, "total_timeout": "2h"},
         {"name": "parrot", "kind": "echo", "models": ["parrot"]}]
        """#

    @Test func aListIsRead() throws {
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

    @Test func aListIsReadFromAFile() throws {
        #expect(
            try configuration(["CHATTERD_UPSTREAMS": "/u.json"], files: ["/u.json": full]).upstreams.list.count == 2)
        #expect(
            try configuration(["CHATTERD_UPSTREAMS_FILE": "/u.json"], files: ["/u.json": full]).upstreams.list.count
                == 2)
        #expect(problems(["CHATTERD_UPSTREAMS": "/absent.json"]).count == 1)
    }

    @Test func anOllamaThatIsAskedForComesFirst() throws {
        let environment = ["CHATTERD_UPSTREAMS": full, "OLLAMA_URL": "https://o", "CHATTERD_ECHO": "1"]
        let upstreams = try configuration(environment).upstreams.list
        #expect(upstreams.map(\.name) == ["ollama", "gpu", "parrot", "echo"])
        #expect(upstreams.first?.kind == .ollama && upstreams.first?.url == "https://o")
        #expect(upstreams.last?.models == ["echo"])
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

    @Test func entriesTakeTheLimitsOfTheProcess() throws {
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
    func aWrongListIsRefusedWithItsEntryNamed(_ text: String, fragment: String) {
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
    func aURLIsRead(_ text: String, meaning: String) throws {
        #expect(try configuration(["OLLAMA_URL": text]).upstreams.list.first?.url == meaning)
    }

    @Test(arguments: [
        "h", "h:11434", "http://", "http:///x", "http://:80", "http://h:0", "http://h:99999", "http://h:1/a?b",
        "http://h:1/#", "http://h h", "http://h\r\nX: y", "http://a:b:c", "http://u:p@h", "http://h/\u{e9}", "ftp://h",
        "//h",
    ])
    func aTextThatIsNoURLIsRefused(_ text: String) {
        #expect(problems(["OLLAMA_URL": text]).count == 1)
    }
}
