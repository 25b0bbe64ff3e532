import ChatterdBasics
import ChatterdChat
import ChatterdHTTP
import ChatterdRelay
import ChatterdSockets
import ChatterdTestSupport
import Glibc
import Testing

@testable import ChatterdTools

/// Calls of tools: requests to servers, and runs of programs.
@Suite(.timeLimit(.minutes(30))) struct ToolRunTests {
    private static let anything = Array(#"{"type":"object"}"#.utf8)

    private func tool(
        _ action: ToolDescription.Action, parameters: [UInt8] = anything, timeout: Duration = .seconds(3_600),
        maximumSize: Int = 64 << 10
    ) throws -> ToolDescription {
        var tool = try ToolDescription(name: "f", description: "F", parameters: parameters, action: action)
        (tool.terms.timeout, tool.terms.maximumSize) = (timeout, maximumSize)
        return tool
    }

    private func program(_ arguments: String...) -> ToolDescription.Action {
        .command(ToolDescription.CommandAction(arguments: arguments))
    }

    private func request(
        _ url: String, method: Method = .get, hosts: [String] = [], allowsPrivate: Bool = true, pointer: String? = nil
    ) throws -> ToolDescription.Action {
        .http(
            ToolDescription.HTTPAction(
                method: method, url: try URLTemplate(parsing: url), hosts: hosts, allowsPrivate: allowsPrivate,
                pointer: try pointer.map { try JSONPointer(parsing: $0) }))
    }

    /// What a model reads, and whether the call has failed.
    private func run(_ tool: ToolDescription, _ arguments: String = "{}") async throws -> (text: String, isError: Bool)
    {
        let json = #"{"function":{"name":"f","arguments":\#(arguments)}}"#
        let call = try #require(AnswerSteps.Call(JSONSlice(Array(json.utf8))))
        let shard = try Shard(index: 0)
        let result = await Task(executorPreference: shard) {
            await ResidentTools([tool], programs: ProgramSlots(), on: shard).run(call, key: "key-1")
        }.value
        return (String(decoding: result.text, as: UTF8.self), result.isError)
    }

    // MARK: - Programs

    @Test func programGetsItsArgumentsOnItsInput() async throws {
        let result = try await run(try tool(program("/bin/cat")), #"{"a":"$(id); \"x\" 'y' `z`"}"#)
        #expect(result == (#"{"a":"$(id); \"x\" 'y' `z`"}"#, false))
    }

    @Test func programHasNoEnvironmentButItsKey() async throws {
        let result = try await run(try tool(program("/usr/bin/env")))
        let names = result.text.split(separator: "\n").map { $0.prefix { $0 != "=" } }.sorted()
        #expect(names == ["CHATTERD_TOOL_KEY", "LC_ALL", "PATH"] && result.text.contains("CHATTERD_TOOL_KEY=key-1"))
    }

    @Test func programRunsInAnEmptyDirectoryThatIsRemoved() async throws {
        let result = try await run(
            try tool(program("/bin/sh", "-c", "ls -A; mkdir -p a/b; ln -s /etc a/etc; touch a/b/c; pwd")))
        #expect(!result.isError && result.text.hasPrefix("/tmp/chatterd-tool-"))
        let path = String(result.text.dropLast())
        #expect(access(path, F_OK) != 0 && access("/etc/passwd", F_OK) == 0)
    }

    @Test func programThatFailsSaysWhy() async throws {
        let result = try await run(try tool(program("/bin/sh", "-c", "echo out; echo wrong >&2; exit 3")))
        #expect(result == ("Error: the program ended with 3: wrong\n", true))
        let missing = try await run(try tool(program("/nonexistent")))
        #expect(missing.isError && missing.text.contains("/nonexistent"))
    }

    @Test func errorsOfAProgramThatSucceedsAreNoPartOfItsResult() async throws {
        #expect(try await run(try tool(program("/bin/sh", "-c", "echo note >&2; echo out"))) == ("out\n", false))
    }

    @Test func programThatTakesTooLongIsKilledWithItsChildren() async throws {
        let script = "(sleep 3600 & echo $! > /proc/self/fd/1); sleep 3600"
        let slow = try await run(try tool(program("/bin/sh", "-c", script), timeout: .milliseconds(500)))
        #expect(slow == ("Error: the program has not ended within 0.5 s.", true))
        // It has closed its output, and has not ended.
        let closed = try await run(
            try tool(program("/bin/sh", "-c", "exec >&- 2>&-; exec sleep 3600"), timeout: .milliseconds(500)))
        #expect(closed == ("Error: the program has not ended within 0.5 s.", true))
    }

    @Test func childThatIsLeftIsKilled() async throws {
        let result = try await run(try tool(program("/bin/sh", "-c", "sleep 3600 >/dev/null 2>&1 & echo $!")))
        let process = try #require(pid_t(result.text.dropLast()))
        // A process that was killed may be a zombie until its new parent looks.
        try eventually("the child is killed", isTrue: { kill(process, 0) != 0 || isZombie(process) })
    }

    private func isZombie(_ process: pid_t) -> Bool {
        guard let file = fopen("/proc/\(process)/stat", "r") else { return true }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 512)
        guard fgets(&bytes, 512, file) != nil else { return true }
        return String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self).contains(") Z")
    }

    @Test func childThatIsLeftDoesNotHoldTheCall() async throws {
        let result = try await run(try tool(program("/bin/sh", "-c", "echo hi; sleep 3600 & exit 0")))
        #expect(result == ("hi\n", false))
    }

    @Test func programThatCannotBeStartedLeavesNoDescriptor() async throws {
        var action = ToolDescription.CommandAction(arguments: ["/bin/true"])
        action.directory = "/nonexistent"
        let tool = try tool(.command(action))
        #expect(try await run(tool).isError)
    }

    @Test func outputHasALimit() async throws {
        let result = try await run(try tool(program("/usr/bin/yes"), maximumSize: 10_000))
        #expect(result == ("Error: the output has more than 10000 bytes.", true))
    }

    @Test func inputThatIsNotReadHoldsNoProgram() async throws {
        let text = String(repeating: "x", count: 60_000)
        #expect(try await run(try tool(program("/bin/true")), #"{"x":"\#(text)"}"#) == ("", false))
        let long = String(repeating: "x", count: 70_000)
        let result = try await run(try tool(program("/bin/true")), #"{"x":"\#(long)"}"#)
        #expect(result.text == "Error: not run, because the arguments have more than 65536 bytes.")
    }

    @Test func memoryHasALimit() async throws {
        var action = ToolDescription.CommandAction(arguments: [
            "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1G", "count=1",
        ])
        action.memory = 256 << 20
        let result = try await run(try tool(.command(action)))
        #expect(result.isError && result.text.contains("memory exhausted"), "\(result.text)")
    }

    @Test func programsHaveALimit() async throws {
        let slots = ProgramSlots()
        for _ in 0..<ProgramSlots.maximumCount { #expect(slots.take()) }
        let tool = try tool(program("/bin/true"))
        let call = try #require(AnswerSteps.Call(JSONSlice(Array(#"{"function":{"name":"f"}}"#.utf8))))
        let shard = try Shard(index: 0)
        func run() async -> Bool {
            await Task(executorPreference: shard) {
                await ResidentTools([tool], programs: slots, on: shard).run(call, key: "k").isError
            }.value
        }
        #expect(await run())
        slots.give()
        #expect(await !run() && slots.take())
    }

    @Test func endOfACallIsReported() async throws {
        let tools = [try tool(program("/bin/true")), try tool(program("/bin/false"))]
        let reports = Lock<[String]>([])
        for tool in tools {
            let call = try #require(AnswerSteps.Call(JSONSlice(Array(#"{"function":{"name":"f"}}"#.utf8))))
            let shard = try Shard(index: 0)
            _ = await Task(executorPreference: shard) {
                await ResidentTools([tool], programs: ProgramSlots(), on: shard) { report in
                    reports.withLock { $0.append("\(report.tool) \(report.isError) \(report.time >= .zero)") }
                }.run(call, key: "k")
            }.value
        }
        #expect(reports.withLock { $0 } == ["f false true", "f true true"])
    }

    @Test(arguments: ["exec sleep 3600", "exec >&- 2>&-; exec sleep 3600"])
    func cancelledRunEnds(script: String) async throws {
        let tool = try tool(program("/bin/sh", "-c", script))
        let call = try #require(AnswerSteps.Call(JSONSlice(Array(#"{"function":{"name":"f"}}"#.utf8))))
        let shard = try Shard(index: 0)
        let task = Task(executorPreference: shard) {
            await ResidentTools([tool], programs: ProgramSlots(), on: shard).run(call, key: "k")
        }
        task.cancel()
        let result = await task.value
        #expect(result.isError)
    }

    // MARK: - Arguments

    @Test(
        arguments: [
            (#"{}"#, #"the object lacks the member "n""#), (#"{"n":"x"}"#, "the value at /n"), (#"{"n":1e400}"#, nil),
            (#"{"n":7}"#, nil),
            (#""{\"n\":7}""#, nil),
        ] as [(String, String?)])
    func argumentsFitTheirSchema(arguments: String, problem: String?) async throws {
        let schema = Array(#"{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}"#.utf8)
        let result = try await run(try tool(program("/bin/cat"), parameters: schema), arguments)
        #expect(result.isError == (problem != nil))
        if let problem { #expect(result.text.contains(problem), "\(result.text)") }
    }

    // MARK: - Servers

    private func server(
        _ status: Int = 200, _ fields: [(String, String)] = [], _ body: String
    ) throws -> ScriptedUpstream {
        let steps = [.head(status, fields + [("Content-Length", "\(body.utf8.count)")]), UpstreamStep.send(body)]
        return try ScriptedUpstream(probing: { _ in steps }, { _ in steps })
    }

    @Test func serverGetsTheArgumentsAndTheKey() async throws {
        let server = try server(200, [], #"{"t":{"v":21.5}}"#)
        let get = try await run(
            try tool(try request("\(server.url)/v/{city}?u={u}", pointer: "/t/v")), #"{"city":"A B","u":"&"}"#)
        #expect(get == ("21.5", false))
        let asked = try #require(server.probes.last)
        #expect(asked.method == "GET" && asked.path == "/v/A%20B?u=%26" && asked["Idempotency-Key"] == "key-1")
        let post = try await run(try tool(try request("\(server.url)/v", method: .post)), #"{"city":"A"}"#)
        #expect(post == (#"{"t":{"v":21.5}}"#, false))
        #expect(String(decoding: server.requests.last?.body ?? [], as: UTF8.self) == #"{"city":"A"}"#)
    }

    @Test(arguments: [
        (404, "no such city", "Error: the server answered with status 404: no such city"),
        (302, "", "Error: the server answered with a redirect (302), which is not followed."),
        (200, "not JSON", "Error: the answer is not JSON."), (200, #"{"x":1}"#, "Error: the answer has no such value."),
    ])
    func failureOfTheServerIsAResult(status: Int, body: String, expected: String) async throws {
        let server = try server(status, [("Location", "http://127.0.0.1:9/")], body)
        let result = try await run(try tool(try request("\(server.url)/", pointer: "/t")))
        #expect(result == (expected, true) && server.probes.count == 1)
    }

    @Test func answerHasALimit() async throws {
        let server = try server(200, [], String(repeating: "x", count: 20_000))
        let result = try await run(try tool(try request("\(server.url)/"), maximumSize: 10_000))
        #expect(result == ("Error: the answer has more than 10000 bytes.", true))
    }

    @Test func serverThatHangsIsAResult() async throws {
        let server = try ScriptedUpstream(probing: { _ in [.stall] }, { _ in [.stall] })
        let result = try await run(try tool(try request("\(server.url)/"), timeout: .milliseconds(300)))
        #expect(result == ("Error: the server has not answered within 0.3 s.", true))
    }

    /// No request reaches a server that a model must not ask.
    @Test(arguments: [
        "http://127.0.0.1:PORT/", "http://localhost:PORT/", "http://2130706433:PORT/", "http://0x7f.1:PORT/",
        "http://0:PORT/",
        "http://[::1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/",
        "http://169.254.169.254/latest",
        "http://user@127.0.0.1:PORT/", "file:///etc/passwd", "http://127.0.0.1.:PORT/", "http://017700000001:PORT/",
    ])
    func addressThatIsNotPublicGetsNoRequest(url: String) async throws {
        let server = try server(200, [], "secret")
        let port = String(server.url.split(separator: ":").last ?? "")
        let fetch = try tool(try request("{url}", hosts: ["*"], allowsPrivate: false))
        let result = try await run(fetch, #"{"url":"\#(url.replacing("PORT", with: port))"}"#)
        #expect(result.isError && server.probes.isEmpty, "\(result.text)")
    }

    @Test func hostOutsideOfTheListGetsNoRequest() async throws {
        let server = try server(200, [], "secret")
        let fetch = try tool(try request("{url}", hosts: ["api.example"]))
        let result = try await run(fetch, #"{"url":"\#(server.url)/"}"#)
        #expect(result == ("Error: this tool may not ask the host of this URL.", true) && server.probes.isEmpty)
    }
}
