import ChatterdBasics
import Dispatch
import Glibc
import Testing

@testable import ChatterdCommand
@testable import ChatterdConfiguration
@testable import ChatterdDevelopmentCluster
@testable import ChatterdJSONLog
@testable import ChatterdPostgresStore
@testable import ChatterdServer

/// A runner whose words come back.
private struct Captured: Sendable {
    let output = Lock("")
    let errors = Lock("")
    let served = Lock<[Configuration]>([])

    func run(_ arguments: String..., environment: [String: String] = [:]) async -> Int32 {
        let actions = CommandActions(
            serve: { configuration, _ in
                served.withLock { $0.append(configuration) }
                return 0
            },
            migrate: { _ in 1 },
            checkDatabase: { _ in [.fine("PostgreSQL", "17.2"), .wrong("schema", "out of date", advice: "migrate")] })
        let runner = CommandRunner(
            environment: environment, actions: actions, output: { text in output.withLock { $0 += text + "\n" } },
            errors: { text in errors.withLock { $0 += text + "\n" } })
        return await CommandProbe.$limit.withValue(.seconds(600)) { await runner.run(arguments) }
    }

    var outputText: String { output.withLock { $0 } }
    var errorText: String { errors.withLock { $0 } }
}

@Suite(.timeLimit(.minutes(30))) struct CommandTests {
    @Test(arguments: [
        (["serve"], Command.serve(isDevelopment: false)), (["serve", "--dev"], .serve(isDevelopment: true)),
        (["migrate"], .migrate), (["doctor"], .doctor),
        (["health"], .health(isReadiness: false)), (["health", "--ready"], .health(isReadiness: true)),
        (["version"], .version),
        (["--version"], .version), (["help"], .help(.commands)), (["--help"], .help(.commands)),
        (["-h"], .help(.commands)), (["serve", "--help"], .help(.commands)), (["help", "limits"], .help(.limits)),
        (["help", "variables"], .help(.variables)),
    ])
    func argumentsMakeACommand(_ arguments: [String], command: Command) throws {
        #expect(try Command(arguments: arguments) == command)
    }

    @Test(arguments: [
        [], ["srve"], [""], ["serve", "--prod"], ["serve", "--dev", "8080"], ["migrate", "now"], ["health", "--dev"],
        ["help", "me"], ["help", "limits", "variables"], ["--dev"], ["version", "1"], ["SERVE"],
    ])
    func otherArgumentsMakeNone(_ arguments: [String]) {
        #expect(throws: CommandUsageError.self) { try Command(arguments: arguments) }
    }

    @Test func aWrongCommandIsExplainedOnStandardError() async {
        let captured = Captured()
        #expect(await captured.run("srve") == 2)
        #expect(captured.errorText.hasPrefix("chatterd: there is no command \"srve\"\n\nusage: chatterd <command>"))
        #expect(captured.outputText.isEmpty)
    }

    @Test func aWrongConfigurationIsAFailureAndNothingIsServed() async {
        let captured = Captured()
        #expect(await captured.run("serve", environment: ["CHATTERD_LISTEN": "x", "CHATTERD_ECO": "1"]) == 1)
        #expect(captured.errorText.split(separator: "\n").count == 4, "a heading, and three problems")
        #expect(captured.served.withLock { $0.isEmpty })
    }

    @Test func serveIsHandedTheConfiguration() async {
        let captured = Captured()
        #expect(await captured.run("serve", "--dev", environment: ["CHATTERD_LISTEN": ":1"]) == 0)
        #expect(await captured.run("serve", environment: ["PGHOST": "h"]) == 0)
        #expect(captured.served.withLock { $0.map(\.store.database) } == [.privateCluster, .libpqEnvironment])
    }

    @Test func theExitCodeIsThatOfTheAction() async {
        #expect(await Captured().run("migrate", environment: ["PGHOST": "h"]) == 1)
    }

    @Test func versionIsOneLine() async {
        let captured = Captured()
        #expect(await captured.run("version") == 0)
        #expect(captured.outputText == "chatterd \(Version.current)\n")
    }

    @Test func helpListsEveryVariableAndEveryLimit() async {
        let (variables, limits) = (Captured(), Captured())
        #expect(await variables.run("help", "variables") == 0)
        #expect(await limits.run("help", "limits") == 0)
        for setting in Setting.allCases {
            let line = "  \(setting.name)  (\(setting.entry.unit), default \(setting.entry.standardText)"
            #expect(variables.outputText.contains(line))
            #expect(limits.outputText.contains(line) == setting.entry.isLimit)
        }
    }

    @Test func helpHasNoLineThatIsTooLongForATerminal() async {
        let captured = Captured()
        _ = await captured.run("help", "variables")
        for line in captured.outputText.split(separator: "\n") {
            #expect(line.count <= 120, "\(line)")
        }
    }

    @Test func theProcessHasAnEnvironment() {
        #expect(CommandRunner.processEnvironment["PATH"]?.isEmpty == false)
    }
}

/// A descriptor whose number is nobody else's for as long as somebody may use it.
private final class OwnDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit { close(number) }
}

/// A server for one request after the other, on a thread.
private final class TinyServer: Sendable {
    let port: UInt16
    /// The thread has it too, and may come back to it when the server is gone.
    private let listener: OwnDescriptor

    init(answer: @escaping @Sendable (_ requestLine: String) -> String) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let listener = OwnDescriptor(descriptor)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) + listen(descriptor, 16) + getsockname(descriptor, generic, &length)
            }
        }
        try #require(status == 0)
        port = UInt16(bigEndian: address.sin_port)
        DispatchQueue(label: "tiny").async {
            while true {
                let client = accept(listener.number, nil, nil)
                guard client >= 0 else { return }
                let reply = Array(answer(Self.requestLine(from: client)).utf8)
                _ = send(client, reply, reply.count, Int32(MSG_NOSIGNAL))
                // The end comes even if a program that is being started has a copy of the descriptor.
                shutdown(client, Int32(SHUT_RDWR))
                close(client)
            }
        }
    }

    deinit {
        // Wakes the thread out of accept, or keeps it from waiting there.
        shutdown(listener.number, Int32(SHUT_RDWR))
    }

    /// Reads a head to its end: with something unread left, the answer might be thrown away with the connection.
    private static func requestLine(from client: Int32) -> String {
        var head: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while head.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let count = recv(client, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            head += bytes[..<count]
        }
        return String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    /// The answer to a chat without messages.
    static let refusal = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

    static func ok(_ body: String) -> String { "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)" }
}

@Suite(.timeLimit(.minutes(30))) struct HealthTests {
    @Test func aServerThatIsAliveIsHealthyThroughAnyInterface() async throws {
        let server = try TinyServer { line in
            line == "GET /healthz HTTP/1.0" ? TinyServer.ok("{}") : "HTTP/1.1 404 Not Found\r\n\r\n"
        }
        for host in ["127.0.0.1", "0.0.0.0", "localhost", ""] {
            #expect(await Captured().run("health", environment: ["CHATTERD_LISTEN": "\(host):\(server.port)"]) == 0)
        }
    }

    @Test func readyOptionOfHealthAsksReadyz() async throws {
        let server = try TinyServer { line in
            line == "GET /readyz HTTP/1.0" ? TinyServer.ok("{}") : "HTTP/1.1 404 Not Found\r\n\r\n"
        }
        let captured = Captured()
        let environment = ["CHATTERD_LISTEN": "127.0.0.1:\(server.port)"]
        #expect(await captured.run("health", "--ready", environment: environment) == 0)
        #expect(captured.outputText == "ready\n")
        let dying = try TinyServer { _ in "HTTP/1.1 503 Service Unavailable\r\n\r\n" }
        #expect(
            await captured.run("health", "--ready", environment: ["CHATTERD_LISTEN": "127.0.0.1:\(dying.port)"]) == 1)
    }

    @Test(arguments: ["HTTP/1.1 503 Service Unavailable\r\n\r\n", "", "hello\r\n", "HTTP/1.1\r\n\r\n"])
    func aServerThatIsNotWellIsNotHealthy(_ answer: String) async throws {
        let server = try TinyServer { _ in answer }
        let captured = Captured()
        #expect(await captured.run("health", environment: ["CHATTERD_LISTEN": "127.0.0.1:\(server.port)"]) == 1)
        #expect(captured.errorText.contains("127.0.0.1:\(server.port)"))
    }

    @Test func nobodyIsNotHealthy() async {
        let captured = Captured()
        #expect(await captured.run("health", environment: ["CHATTERD_LISTEN": "127.0.0.1:1"]) == 1)
        #expect(captured.errorText == "chatterd: no server answers at 127.0.0.1:1: Connection refused\n")
        #expect(await captured.run("health", environment: ["CHATTERD_LISTEN": "127.0.0.1:0"]) == 1)
    }
}

@Suite(.timeLimit(.minutes(30))) struct DoctorTests {
    private func ollama() throws -> TinyServer {
        try TinyServer { line in
            switch line {
            case "GET /api/version HTTP/1.0": TinyServer.ok(#"{"version":"0.9.1"}"#)
            case "GET /api/tags HTTP/1.0":
                TinyServer.ok(#"{"models":[{"name":"tiny:latest","size":1},{"name":"big:7b"}]}"#)
            case "POST /api/chat HTTP/1.1": TinyServer.refusal
            default: "HTTP/1.1 404 Not Found\r\n\r\n"
            }
        }
    }

    private func lines(_ environment: [String: String]) async -> (status: Int32, lines: [String]) {
        let captured = Captured()
        let status = await captured.run("doctor", environment: environment)
        return (status, captured.outputText.split(separator: "\n").map(String.init))
    }

    @Test func aWrongConfigurationIsAllThatIsLookedAt() async {
        let (status, lines) = await lines(["CHATTERD_LISTEN": "x", "CHATTERD_SHARDS": "0"])
        #expect(status == 1)
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("FAIL  configuration: CHATTERD_") })
    }

    @Test func aModelServerIsAskedForVersionAndModels() async throws {
        let server = try ollama()
        let (status, lines) = await lines([
            "CHATTERD_LISTEN": "127.0.0.1:0", "OLLAMA_URL": "http://127.0.0.1:\(server.port)", "PGHOST": "h",
            "CHATTERD_ECHO": "1",
        ])
        #expect(status == 1, "the schema is out of date")
        #expect(lines.contains("ok    PostgreSQL: 17.2"))
        #expect(lines.contains("FAIL  schema: out of date; migrate"))
        #expect(lines.contains("ok    CHATTERD_LISTEN: 127.0.0.1:0 is free"))
        #expect(lines.contains("ok    model server ollama: http://127.0.0.1:\(server.port) is Ollama 0.9.1"))
        #expect(lines.contains("ok    model server ollama: models: tiny:latest, big:7b"))
        #expect(lines.contains("ok    model server echo: built in"))
    }

    @Test func missingModelsAndServersAreFound() async throws {
        let server = try ollama()
        let other = try TinyServer { _ in TinyServer.ok("<html>") }
        let (_, lines) = await lines([
            "CHATTERD_LISTEN": "127.0.0.1:\(server.port)",
            "CHATTERD_UPSTREAMS": """
            [{"name":"a","kind":"ollama","url":"http://127.0.0.1:\(server.port)","key":"sesame","models":["tiny","huge"]},
             {"name":"b","kind":"ollama","url":"http://127.0.0.1:1"},
             {"name":"c","kind":"ollama","url":"http://127.0.0.1:\(other.port)"}]
            """,
        ])
        #expect(lines.contains("FAIL  model server a: it lacks huge; fetch there: ollama pull huge"))
        #expect(lines.contains { $0.hasPrefix("FAIL  model server b: no server answers at http://127.0.0.1:1") })
        #expect(
            lines.contains { $0.hasPrefix("FAIL  model server c: http://127.0.0.1:\(other.port) does not answer as") })
        #expect(lines.contains { $0.hasPrefix("FAIL  PostgreSQL: no database is named") })
        #expect(
            lines.contains { $0.hasPrefix("FAIL  CHATTERD_LISTEN: 127.0.0.1:\(server.port) cannot be listened on") })
        #expect(!lines.joined().contains("sesame"))
    }

    @Test func serversOfOtherKindsAreAskedForTheirModels() async throws {
        let server = try TinyServer { line in
            switch line {
            case "GET /v1/models HTTP/1.1":
                TinyServer.ok(#"{"object":"list","data":[{"id":"qwen3"},{"id":"llama3"}]}"#)
            case "POST /v1/chat/completions HTTP/1.1": TinyServer.refusal
            default: "HTTP/1.1 404 Not Found\r\n\r\n"
            }
        }
        let (_, lines) = await lines([
            "CHATTERD_UPSTREAMS": """
            [{"name":"a","kind":"openai","url":"http://127.0.0.1:\(server.port)","key":"sesame"},
             {"name":"b","kind":"openai","url":"http://127.0.0.1:\(server.port)","models":["qwen3","gone"]},
             {"name":"c","kind":"openai","url":"http://127.0.0.1:\(server.port)/elsewhere"},
             {"name":"d","kind":"openai","url":"http://127.0.0.1:\(server.port)","key_env":"ABSENT_KEY"}]
            """
        ])
        #expect(
            lines.contains("ok    model server a: http://127.0.0.1:\(server.port)/v1 has models: qwen3, llama3"),
            "\(lines)")
        #expect(lines.contains { $0.hasPrefix("FAIL  model server b: it lacks gone;") })
        #expect(lines.contains { $0.contains("model server c") && $0.contains("does not list its models") })
        #expect(
            lines.contains { $0.hasPrefix("FAIL  model server d: the variable ABSENT_KEY with its key is not set;") })
        #expect(!lines.joined().contains("sesame"))
    }
}
