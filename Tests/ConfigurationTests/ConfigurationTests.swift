import ChatterdChat
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdJSONLog
import ChatterdRelay
import ChatterdSockets
import Testing

@testable import ChatterdConfiguration

@Suite(.timeLimit(.minutes(30))) struct ConfigurationTests {
    @Test func emptyEnvironmentGivesDefaults() throws {
        let configuration = try configuration([:])
        #expect(configuration.server.listen == HostAndPort(host: "127.0.0.1", port: 8080))
        #expect(configuration.server.tls == nil)
        #expect(configuration.server.shards >= 1)
        #expect(configuration.http.body.body == 32 << 20)
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

    @Test func fieldsHaveTheDefaultsOfTheTable() throws {
        let (standard, read) = (Configuration(), try configuration([:]))
        #expect(standard.server == read.server)
        #expect(standard.streams == read.streams)
        #expect(standard.relay == read.relay)
        #expect(standard.store == read.store)
        #expect(standard.log == read.log)
        #expect(standard.upstreams.connections == read.upstreams.connections)
        #expect(standard.upstreams.defaults == read.upstreams.defaults)
    }

    @Test(arguments: Setting.allCases)
    func everyDefaultIsAccepted(_ setting: Setting) {
        guard case .value(let text) = setting.entry.standard else { return }
        #expect(problems([setting.name: text]) == [])
    }

    @Test(arguments: Setting.allCases)
    func everyVariableIsReadAndRefusesNonsense(_ setting: Setting) {
        let found = problems([setting.name: "\u{1}nonsense -1"])
        #expect(found.contains { $0.hasPrefix(setting.name) }, "\(found)")
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
    func invalidNameOrOriginIsRefused(name: String, value: String) {
        let found = problems([name: "\(value)"])
        #expect(found.count == 1 && found[0].hasPrefix(name), "\(found)")
    }

    @Test func allProblemsAreReportedAtOnce() {
        let found = problems([
            "CHATTERD_LISTEN": "8080", "CHATTERD_IDLE_TIMEOUT": "soon", "CHATTERD_BODY_LIMIT": "8MB",
            "CHATTERD_FOO": "1", "CHATTERD_ECHO": "yes",
        ])
        #expect(found.count == 5)
    }

    @Test(arguments: [
        ("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("12", 12_000), ("0250ms", 250),
    ])
    func durationIsRead(_ text: String, milliseconds: Int) throws {
        #expect(try configuration(["CHATTERD_IDLE_TIMEOUT": text]).http.idle == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "-1s", "nan", "NaN", "inf", "1.5s", "1 s", " 1s", "1s ", "1d", "1S", "s", "0x10", "1e3", "+1", "٣s", "1s1s",
        "99999999999999999999999999h", "25h", "0", "99ms",
    ])
    func invalidOrAbsurdDurationIsRefused(_ text: String) throws {
        let found = problems(["CHATTERD_IDLE_TIMEOUT": text])
        #expect(found.count == 1)
        #expect(found.first?.contains("100ms to 24h") == true, "the bounds are shown")
    }

    @Test func refusalOfDurationShowsTheRightForm() {
        #expect(
            problems(["CHATTERD_IDLE_TIMEOUT": "75 seconds"]) == [
                "CHATTERD_IDLE_TIMEOUT: \"75 seconds\" is not a duration such as 500ms, 30s, 5m or 1h "
                    + "(or a bare number of seconds), 100ms to 24h"
            ])
    }

    @Test(arguments: [("8MiB", 8 << 20), ("64KiB", 65_536), ("1GiB", 1 << 30), ("4096", 4_096)])
    func sizeIsRead(_ text: String, bytes: Int) throws {
        #expect(try configuration(["CHATTERD_BODY_LIMIT": text]).http.body.body == bytes)
    }

    @Test(arguments: ["-1", "8MB", "8 MiB", "8M", "8mib", "1.5MiB", "nan", "MiB", "1", "2GiB", "99999999999GiB"])
    func invalidOrAbsurdSizeIsRefused(_ text: String) {
        let found = problems(["CHATTERD_BODY_LIMIT": text])
        #expect(found.count == 1)
        #expect(found.first?.contains("1KiB to 1GiB") == true)
    }

    @Test(arguments: ["0", "-4", "4.0", "many", "101", "4KiB"])
    func invalidOrAbsurdCountIsRefused(_ text: String) {
        #expect(problems(["CHATTERD_STORE_CONNECTIONS": text]).count == 1)
    }

    @Test func zeroDisablesDisconnectGrace() throws {
        #expect(try configuration(["CHATTERD_DISCONNECT_GRACE": "0"]).relay.disconnectGrace == .zero)
    }

    @Test func emptyVariableCountsAsAbsent() throws {
        #expect(try configuration(["CHATTERD_BODY_LIMIT": "", "CHATTERD_SHARDS": ""]).http.body.body == 32 << 20)
    }

    @Test(arguments: [
        ("CHATTERD_LISTN", "CHATTERD_LISTEN"), ("CHATTERD_MAX_CONNECTION", "CHATTERD_MAX_CONNECTIONS"),
        ("CHATTERD_LISTEN_FIEL", "CHATTERD_LISTEN_FILE"), ("CHATTERD_IDLE_TIME_OUT", "CHATTERD_IDLE_TIMEOUT"),
        ("CHATTERD_UPSTREAM", "CHATTERD_UPSTREAMS"),
    ])
    func unknownVariableIsRefusedWithTheNearestName(_ name: String, nearest: String) {
        #expect(problems([name: "1"]) == ["\(name) is not a variable of chatterd; did you mean \(nearest)?"])
    }

    @Test func variablesOfOtherProgramsAreIgnored() {
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
