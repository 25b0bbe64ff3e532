import Testing

@testable import ChatterdCommand

@Suite(.timeLimit(.minutes(30))) struct HealthTests {
    @Test func liveServerIsHealthyThroughAnyInterface() async throws {
        let server = try TinyServer { line in
            line == "GET /healthz HTTP/1.0" ? TinyServer.ok("{}") : "HTTP/1.1 404 Not Found\r\n\r\n"
        }
        for host in ["127.0.0.1", "0.0.0.0", "localhost", ""] {
            #expect(
                await CapturedCommand().run("health", environment: ["CHATTERD_LISTEN": "\(host):\(server.port)"]) == 0)
        }
    }

    @Test func readyOptionOfHealthAsksReadyz() async throws {
        let server = try TinyServer { line in
            line == "GET /readyz HTTP/1.0" ? TinyServer.ok("{}") : "HTTP/1.1 404 Not Found\r\n\r\n"
        }
        let captured = CapturedCommand()
        let environment = ["CHATTERD_LISTEN": "127.0.0.1:\(server.port)"]
        #expect(await captured.run("health", "--ready", environment: environment) == 0)
        #expect(captured.outputText == "ready\n")
        let dying = try TinyServer { _ in "HTTP/1.1 503 Service Unavailable\r\n\r\n" }
        #expect(
            await captured.run("health", "--ready", environment: ["CHATTERD_LISTEN": "127.0.0.1:\(dying.port)"]) == 1)
    }

    @Test func reasonOfAServerThatIsNotReadyIsPrinted() async throws {
        let server = try TinyServer { _ in
            "HTTP/1.1 503 Service Unavailable\r\n\r\n" + #"{"error":"The disk\u001b]0;x\u0007 is full.","code":"c"}"#
        }
        let captured = CapturedCommand()
        let listen = "127.0.0.1:\(server.port)"
        #expect(await captured.run("health", "--ready", environment: ["CHATTERD_LISTEN": listen]) == 1)
        #expect(
            captured.errorText == "chatterd: the server at \(listen) answers with status 503: The disk]0;x is full.\n")
    }

    @Test(arguments: ["HTTP/1.1 503 Service Unavailable\r\n\r\n", "", "hello\r\n", "HTTP/1.1\r\n\r\n"])
    func serverWithWrongAnswersIsNotHealthy(_ answer: String) async throws {
        let server = try TinyServer { _ in answer }
        let captured = CapturedCommand()
        #expect(await captured.run("health", environment: ["CHATTERD_LISTEN": "127.0.0.1:\(server.port)"]) == 1)
        #expect(captured.errorText.contains("127.0.0.1:\(server.port)"))
    }

    @Test func missingServerIsNotHealthy() async {
        let captured = CapturedCommand()
        #expect(await captured.run("health", environment: ["CHATTERD_LISTEN": "127.0.0.1:1"]) == 1)
        #expect(captured.errorText == "chatterd: no server answers at 127.0.0.1:1: Connection refused\n")
        #expect(await captured.run("health", environment: ["CHATTERD_LISTEN": "127.0.0.1:0"]) == 1)
    }
}
