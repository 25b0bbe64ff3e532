import ChatterdBasics
import ChatterdChat
import ChatterdHTTPClient
import ChatterdRelay
import ChatterdSockets
import ChatterdTestSupport
import Glibc
import Testing

@testable import ChatterdTools

/// Servers of tools that speak the Model Context Protocol: by HTTP, and as programs.
@Suite(.timeLimit(.minutes(30))) struct MCPServerTests {
    /// The tools of a server, its problems, and calls of them.
    private final class Harness: Sendable {
        let servers: MCPServers
        let shard: Shard
        let reports = Lock<[MCPServers.Report]>([])
        /// Kept, because it serves as long as it exists.
        let upstream: ScriptedUpstream?

        init(_ description: MCPDescription, _ upstream: ScriptedUpstream? = nil, taken: [String] = []) throws {
            self.upstream = upstream
            shard = try Shard(index: 0)
            // No pause of a thread exceeds the limit, and no test sees a question that it has not asked.
            let never = Duration.seconds(86_400)
            servers = MCPServers(
                [description], taken: taken, on: shard, requestLimit: .seconds(600), interval: never,
                retryInterval: never
            ) { [reports] report in reports.withLock { $0.append(report) } }
        }

        /// Asks for the tools.
        func start() async {
            await servers.start(within: .seconds(600))
        }

        var names: [String] { servers.tools.map(\.name) }
        var problems: [String] { reports.withLock { $0.last?.problems ?? [] } }

        /// What a model reads, and whether the call has failed.
        func call(_ name: String, _ arguments: String = "{}") async throws -> (text: String, isError: Bool) {
            let json = #"{"function":{"name":"\#(name)","arguments":\#(arguments)}}"#
            let call = try #require(AnswerSteps.Call(JSONSlice(Array(json.utf8))))
            let result = await withTaskExecutorPreference(shard) { @concurrent [servers, shard] in
                await ResidentTools([], servers: servers, programs: ProgramSlots(), on: shard).run(call, key: "key-1")
            }
            return (String(decoding: result.text, as: UTF8.self), result.isError)
        }
    }

    private static let list = #"{"tools":[{"name":"add","description":"Adds","inputSchema":{"type":"object"}}]}"#
    private static let discovery = #"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
    private static let hello = #"{"content":[{"type":"text","text":"hello"}]}"#

    private func server(_ upstream: ScriptedUpstream, timeout: Duration = .seconds(600)) throws -> MCPDescription {
        var description = MCPDescription(
            name: "s",
            transport: .http(
                MCPDescription.HTTPTransport(
                    origin: try Origin(parsing: upstream.url), path: "/mcp", allowsPrivate: true)))
        description.terms.timeout = timeout
        return description
    }

    /// A server of the stateless revision. `call` and `list` are the results of calls and of the list.
    private func stateless(call: String = hello, list: String = list) throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            switch request.rpcMethod {
            case "server/discover": request.result(Self.discovery)
            case "tools/list": request.result(list)
            default: request.result(call)
            }
        }
    }

    /// A server of the revision with a handshake. The session has the number of the request that has begun it.
    private func withSessions(call: @escaping ScriptedUpstream.Behaviour) throws -> ScriptedUpstream {
        try ScriptedUpstream { request in
            switch request.rpcMethod {
            case "server/discover": .plain(400, "")
            case "initialize":
                request.result(#"{"protocolVersion":"2025-11-25"}"#, session: "session-\(request.number)")
            case "notifications/initialized", "notifications/cancelled": .plain(202, "")
            case "tools/list": request.result(Self.list)
            default: call(request)
            }
        }
    }

    // MARK: - HTTP

    @Test func statelessServerIsAskedWithoutAHandshake() async throws {
        let upstream = try stateless()
        let harness = try Harness(try server(upstream))
        await harness.start()
        #expect(harness.names == ["s_add"] && harness.problems.isEmpty)
        #expect(try await harness.call("s_add", #"{"a":1}"#) == ("hello", false))
        #expect(upstream.requests.map(\.rpcMethod) == ["server/discover", "tools/list", "tools/call"])
        for request in upstream.requests {
            #expect(request.path == "/mcp" && request["MCP-Protocol-Version"] == "2026-07-28")
            #expect(request["Mcp-Method"] == request.rpcMethod && request["Mcp-Session-Id"] == nil)
            #expect(request.text.contains(#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#))
        }
        let call = upstream.requests[2]
        #expect(call["Mcp-Name"] == "add" && call.text.contains(#""name":"add","arguments":{"a":1}"#))
        #expect(call["Accept"] == "application/json, text/event-stream")
    }

    /// The ways in which servers without the stateless revision refuse its first request.
    @Test(arguments: [
        (400, #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}"#),
        (200, #"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no method"}}"#), (404, "not found"),
        (500, ""),
        (200, #"{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2025-11-25"]}}"#), (405, ""), (200, "<html>"),
    ])
    func serverOfAnEarlierRevisionGetsAHandshake(status: Int, refusal: String) async throws {
        let upstream = try ScriptedUpstream { request in
            switch request.rpcMethod {
            case "server/discover": .plain(status, refusal.replacing("ID", with: request.rpcID))
            case "initialize":
                request.result(#"{"protocolVersion":"2025-06-18","capabilities":{}}"#, session: "session-7")
            case "notifications/initialized": .plain(202, "")
            case "tools/list": request.result(Self.list)
            default: request.result(Self.hello)
            }
        }
        let harness = try Harness(try server(upstream))
        await harness.start()
        #expect(harness.names == ["s_add"])
        #expect(try await harness.call("s_add") == ("hello", false))
        let requests = upstream.requests
        #expect(
            requests.map(\.rpcMethod)
                == ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"])
        #expect(requests[1]["MCP-Protocol-Version"] == nil && requests[1]["Mcp-Session-Id"] == nil)
        #expect(requests[1].text.contains(#""protocolVersion":"2025-11-25""#))
        for request in requests.dropFirst(2) {
            #expect(request["MCP-Protocol-Version"] == "2025-06-18" && request["Mcp-Session-Id"] == "session-7")
            #expect(!request.text.contains("_meta") && request["Mcp-Method"] == nil)
        }
        await harness.servers.stop()
        let end = try #require(upstream.requests.last)
        #expect(end.method == "DELETE" && end["Mcp-Session-Id"] == "session-7")
    }

    @Test func callAfterTheEndOfTheSessionBeginsAnother() async throws {
        let upstream = try withSessions { request in
            request["Mcp-Session-Id"] == "session-1" ? .plain(404, "gone") : request.result(Self.hello)
        }
        let harness = try Harness(try server(upstream))
        await harness.start()
        #expect(try await harness.call("s_add") == ("hello", false))
        #expect(upstream.requests.map(\.rpcMethod).filter { $0 == "tools/call" }.count == 2)
    }

    /// Servers say in several ways that they do not know a session.
    @Test(arguments: ["gone", #"{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"Session not found"}}"#])
    func parallelCallsAfterTheEndOfTheSessionBeginOneOther(refusal: String) async throws {
        let together = Gate()
        let upstream = try withSessions { request in
            guard request["Mcp-Session-Id"] == "session-1" else { return request.result(Self.hello) }
            return [.wait(for: together)] + .plain(404, refusal.replacing("ID", with: request.rpcID))
        }
        let harness = try Harness(try server(upstream))
        await harness.start()
        try await withThrowingTaskGroup { group in
            for _ in 0..<3 { group.addTask { try await harness.call("s_add") } }
            // All calls carry the session that has ended.
            try await blocking { _ = try upstream.waitForRequests(7) }
            together.open()
            for try await result in group { #expect(result == ("hello", false)) }
        }
        #expect(upstream.requests.map(\.rpcMethod).filter { $0 == "initialize" }.count == 2)
    }

    @Test func callThatTheServerRefusesIsMadeOnce() async throws {
        let upstream = try withSessions { _ in .plain(400, "invalid amount") }
        let harness = try Harness(try server(upstream))
        await harness.start()
        let result = try await harness.call("s_add")
        #expect(result == ("Error: the server answered with status 400: invalid amount.", true))
        #expect(upstream.requests.map(\.rpcMethod).filter { $0 == "tools/call" }.count == 1)
        // The server may be another one by now.
        _ = try await harness.call("s_add")
        #expect(upstream.requests.map(\.rpcMethod).filter { $0 == "initialize" }.count == 2)
    }

    @Test func callThatIsStoppedBeforeItsConnectionIsNotMade() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            switch request.rpcMethod {
            case "server/discover" where request.number > 0: return [.wait(for: gate)] + request.result(Self.discovery)
            case "server/discover": return request.result(Self.discovery)
            case "tools/list": return request.result(Self.list)
            default: return request.number == 2 ? .plain(500, "") : request.result(Self.hello)
            }
        }
        let harness = try Harness(try server(upstream))
        await harness.start()
        #expect(try await harness.call("s_add").isError)
        let stopped = Task { try await harness.call("s_add") }
        try await blocking { _ = try upstream.waitForRequests(4) }
        stopped.cancel()
        gate.open()
        #expect(try await stopped.value.isError)
        #expect(try await harness.call("s_add") == ("hello", false))
        #expect(upstream.requests.map(\.rpcMethod).filter { $0 == "tools/call" }.count == 2)
    }

    @Test func serverIsToldThatACallIsCancelled() async throws {
        let upstream = try withSessions { _ in [.stall] }
        let harness = try Harness(try server(upstream, timeout: .milliseconds(300)))
        while harness.names.isEmpty { await harness.start() }
        // After a pause of this process a call may end before it is sent.
        repeat {
            #expect(try await harness.call("s_add").isError)
        } while !upstream.requests.contains {
            $0.rpcMethod == "notifications/cancelled" && $0.text.contains("requestId")
        }
    }

    @Test func callOfAServerThatHasNotAnsweredAsksForItsTools() async throws {
        let upstream = try stateless()
        var description = try server(upstream)
        description.terms.isIdempotent = true
        let harness = try Harness(description, upstream)
        #expect(harness.servers.terms(of: "s_add")?.isIdempotent == true && harness.servers.terms(of: "t_add") == nil)
        #expect(try await harness.call("s_add") == ("hello", false))
        #expect(try await harness.call("t_add").isError)
    }

    @Test func answerInAnEndlessStreamOfEventsIsTaken() async throws {
        let upstream = try ScriptedUpstream { request in
            let answer = #"{"jsonrpc":"2.0","id":\#(request.rpcID),"result":\#(Self.result(of: request.rpcMethod))}"#
            return [
                .head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")]),
                .chunk(": ping\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n"),
                .chunk("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\ndata: "),
                .chunk(answer), .chunk("\n\n"), .stall,
            ]
        }
        let harness = try Harness(try server(upstream))
        await harness.start()
        #expect(try await harness.call("s_add") == ("hello", false))
    }

    private static func result(of method: String) -> String {
        ["server/discover": discovery, "tools/list": list][method] ?? hello
    }

    @Test(
        arguments: [
            (#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "a\nb", false),
            (#"{"content":[],"structuredContent":{"t":1}}"#, #"{"t":1}"#, false),
            (#"{"structuredContent":{"t":1}}"#, #"{"t":1}"#, false), (#"{"content":[]}"#, "", false),
            (#"{"content":[{"type":"text","text":"no"}],"isError":true}"#, "Error: no", true),
            (#"{"isError":true}"#, "Error: the tool has failed.", true),
            (
                #"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#,
                "(image of the type image/png, which is left out)", false
            ),
            (#"{"content":[{"type":"resource_link","uri":"file:///a"}]}"#, "file:///a", false),
            (#"{"content":[{"type":"resource","resource":{"uri":"u","text":"t"}}]}"#, "t", false),
            (#"{"content":[{"type":"resource","resource":{"uri":"u","blob":"AAAA"}}]}"#, "u", false),
            (#"{"content":"text"}"#, "", false), (#"{"content":[7,null,{"type":7}]}"#, "", false),
            (
                #"{"resultType":"input_required"}"#,
                "Error: the tool wants more than its arguments (input_required), which no person here can give.", true
            ),
        ] as [(String, String, Bool)])
    func resultIsText(result: String, text: String, isError: Bool) async throws {
        let upstream = try stateless(call: result)
        let harness = try Harness(try server(upstream), upstream)
        await harness.start()
        #expect(try await harness.call("s_add") == (text, isError))
    }

    @Test(
        arguments: [
            ([UpstreamStep].plain(500, "broken"), "Error: the server answered with status 500: broken."),
            (.plain(302, ""), "Error: the server answered with status 302: ."),
            (.plain(200, "[]"), "Error: the server answered without a message of the protocol."),
            (
                .plain(200, #"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool"}}"#),
                "Error: the server refused it: Unknown tool."
            ),
            (
                .plain(200, String(repeating: "x", count: MCPAnswer.maximumSize + 1)),
                "Error: the answer has more than 4194304 bytes."
            ), ([.stall], "Error: the server has not answered within 0.3 s."),
        ] as [([UpstreamStep], String)])
    func failureOfACallIsAResult(steps: [UpstreamStep], text: String) async throws {
        let upstream = try ScriptedUpstream { request in
            request.rpcMethod == "tools/call" ? steps : request.result(Self.result(of: request.rpcMethod))
        }
        let hangs = text.contains("0.3 s")
        let harness = try Harness(try server(upstream, timeout: hangs ? .milliseconds(300) : .seconds(600)))
        // A machine that stands still makes the short limit pass before the list has arrived.
        while harness.names.isEmpty { await harness.start() }
        #expect(try await harness.call("s_add") == (text, true))
    }

    @Test func resultHasALimit() async throws {
        let text = String(repeating: "x", count: 70_000)
        let upstream = try stateless(call: #"{"content":[{"type":"text","text":"\#(text)"}]}"#)
        let harness = try Harness(try server(upstream), upstream)
        await harness.start()
        #expect(try await harness.call("s_add") == ("Error: the result has more than 65536 bytes.", true))
    }

    @Test func argumentsOfACallFitTheSchemaOfTheServer() async throws {
        let list = #"{"tools":[{"name":"f","inputSchema":{"type":"object","required":["n"]}}]}"#
        let upstream = try stateless(list: list)
        let harness = try Harness(try server(upstream))
        await harness.start()
        #expect(try await harness.call("s_f").isError)
        #expect(!upstream.requests.map(\.rpcMethod).contains("tools/call"))
    }

    @Test func addressThatIsNotPublicIsNotAsked() async throws {
        let upstream = try stateless()
        var description = try server(upstream)
        description.transport = .http(
            MCPDescription.HTTPTransport(origin: try Origin(parsing: upstream.url), path: "/mcp"))
        let harness = try Harness(description)
        await harness.start()
        #expect(harness.names.isEmpty && harness.problems.count == 1 && upstream.connectionCount == 0)
    }

    // MARK: - Lists

    @Test func toolsHaveNamesThatModelsAccept() async throws {
        let (long, huge) = (String(repeating: "n", count: 63), String(repeating: "x", count: 1 << 20))
        let list = #"""
            {"tools":[{"name":"a.b/c","inputSchema":{"type":"object"}},{"name":"\#(long)","inputSchema":{"type":"object"}},
            {"name":"taken","inputSchema":{"type":"object"}},{"name":"ä","inputSchema":{"type":"object"}},
            {"name":"","inputSchema":{}},{"name":"x"},7,{"name":"bad","inputSchema":{"title":"\#(huge)"}},
            {"name":"ok","title":"Title","inputSchema":{"type":"object"}}]}
            """#
        let upstream = try stateless(list: list)
        let harness = try Harness(try server(upstream), upstream, taken: ["s_taken"])
        await harness.start()
        #expect(harness.names == ["s_a_b_c", "s___", "s_ok"])
        #expect(harness.problems.count == 3, "\(harness.problems)")
        #expect(harness.servers.tools.last?.description == "Title")
    }

    @Test func operatorChoosesTheTools() async throws {
        let upstream = try stateless(
            list: #"{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}]}"#)
        var description = try server(upstream)
        description.tools = ["b", "c"]
        let harness = try Harness(description, upstream)
        await harness.start()
        #expect(harness.names == ["s_b"] && harness.problems == ["c: the server has no such tool"])
        #expect(try await harness.call("s_a").isError)
    }

    @Test func listHasPagesAndALimit() async throws {
        let upstream = try ScriptedUpstream { request in
            guard request.rpcMethod == "tools/list" else { return request.result(Self.result(of: request.rpcMethod)) }
            let page =
                #"{"tools":[{"name":"t\#(request.number)","inputSchema":{"type":"object"}}],"nextCursor":"next"}"#
            return request.result(page)
        }
        let harness = try Harness(try server(upstream))
        await harness.start()
        let lists = upstream.requests.filter { $0.rpcMethod == "tools/list" }
        #expect(harness.names.count == 16 && lists.count == 16)
        #expect(!lists[0].text.contains("cursor") && lists[1].text.contains(#""cursor":"next""#))
    }

    @Test func toolsWithOneNameForModelsAreAProblem() async throws {
        let names = ["a.b", "a_b", "a b", "c"].map { #"{"name":"\#($0)","inputSchema":{}}"# }.joined(separator: ",")
        let upstream = try stateless(list: #"{"tools":[\#(names)]}"#)
        let harness = try Harness(try server(upstream), upstream)
        await harness.start()
        #expect(harness.names == ["s_a_b", "s_c"] && harness.problems.count == 2)
    }

    @Test func descriptionsHaveALimit() async throws {
        let text = String(repeating: "d", count: 10_000)
        let tools = (0..<100).map { #"{"name":"t\#($0)","description":"\#(text)","inputSchema":{}}"# }
        let upstream = try stateless(list: #"{"tools":[\#(tools.joined(separator: ","))]}"#)
        let harness = try Harness(try server(upstream), upstream)
        await harness.start()
        let offered = harness.servers.tools
        #expect(offered.allSatisfy { $0.description.utf8.count <= MCPTool.maximumDescription })
        #expect(offered.reduce(0) { $0 + $1.offer.json.count } <= MCPServers.maximumOffers)
        #expect((50..<100).contains(offered.count) && harness.problems.count == 1)
    }

    @Test func serverThatDoesNotAnswerIsReported() async throws {
        let upstream = try ScriptedUpstream { _ in [.stall] }
        let harness = try Harness(try server(upstream), upstream)
        await harness.servers.start(within: .milliseconds(10))
        #expect(harness.names.isEmpty)
        #expect(harness.reports.withLock { $0.map(\.problems) } == [["the server has not answered within 0.01 s"]])
        await harness.servers.stop()
    }

    @Test func toolThatIsNotReadOnlyNeedsAnApprovalToWrite() async throws {
        let tools = [
            #""annotations":{"readOnlyHint":true}"#, #""annotations":{"readOnlyHint":false}"#, #""annotations":{}"#,
        ]
        let list = tools.enumerated().map { #"{"name":"t\#($0)","inputSchema":{},\#($1)}"# }.joined(separator: ",")
        let upstream = try stateless(list: #"{"tools":[\#(list)]}"#)
        var description = try server(upstream)
        description.terms.approval = .writes
        let harness = try Harness(description, upstream)
        await harness.start()
        #expect(harness.servers.tools.map(\.needsApproval) == [false, true, true])
    }

    @Test func reloadsDuringAQuestionAskOnceMore() async throws {
        let gate = Gate()
        let upstream = try ScriptedUpstream { request in
            let steps = request.result(Self.result(of: request.rpcMethod))
            return request.rpcMethod == "tools/list" ? [.wait(for: gate)] + steps : steps
        }
        let harness = try Harness(try server(upstream), upstream)
        async let start: Void = harness.start()
        try await blocking { _ = try upstream.waitForRequests(2) }
        for _ in 0..<50 { harness.servers.reload() }
        // The shard has made the reloads before it runs another block.
        await withCheckedContinuation { continuation in harness.shard.run { continuation.resume() } }
        gate.open()
        await start
        #expect(upstream.requests.map(\.rpcMethod) == ["server/discover", "tools/list", "tools/list"])
    }

    // MARK: - Programs

    /// A program in sh(1) that answers as `answers` say: lines of a `case` of the message.
    private func program(_ answers: String, start: String = "") throws -> MCPDescription {
        let script = #"""
            \#(start)
            answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
            while IFS= read -r line; do
                id=${line#*'"id":'}; id=${id%%,*}
                case "$line" in
                \#(answers)
                *server/discover*) answer '\#(Self.discovery)' ;;
                *tools/list*) answer '\#(Self.list)' ;;
                *tools/call*) answer "{\"content\":[{\"type\":\"text\",\"text\":\"$$ $(env | cut -d= -f1 | sort | tr '\n' ' ')\"}]}" ;;
                esac
            done
            """#
        var description = MCPDescription(
            name: "s",
            transport: .program(MCPDescription.Program(arguments: ["/bin/sh", "-c", script], variables: ["SECRET=1"])))
        description.terms.timeout = .seconds(600)
        return description
    }

    @Test func programRunsUntilTheStop() async throws {
        let harness = try Harness(try program(""))
        await harness.start()
        #expect(harness.names == ["s_add"])
        let first = try await harness.call("s_add").text
        #expect(try await harness.call("s_add").text == first)
        let words = first.split(separator: " ")
        #expect(words.dropFirst().filter { $0 != "_" } == ["LC_ALL", "PATH", "PWD", "SECRET"])
        let process = try #require(words.first.flatMap { pid_t($0) })
        #expect(kill(process, 0) == 0)
        await harness.servers.stop()
        try eventually("the program is killed", isTrue: { kill(process, 0) != 0 })
    }

    @Test(arguments: [
        "",
        #"""
        *server/discover*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
        *'"initialize"'*) ready=1; answer '{"protocolVersion":"2025-11-25"}' ;;
        *tools/*) [ "$ready" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"early"}}\n' "$id"
            case "$line" in *tools/list*) answer "$list" ;; *) answer "{\"content\":[{\"type\":\"text\",\"text\":\"$$\"}]}" ;; esac ;;
        """#,
    ])
    func callAfterTheEndOfTheProgramStartsAnother(handshake: String) async throws {
        let harness = try Harness(
            try program(
                #"*tools/call*die*) echo 'I die' >&2; exit 3 ;;"# + "\n" + handshake, start: "list='\(Self.list)'"))
        await harness.start()
        let first = try await harness.call("s_add").text
        let end = try await harness.call("s_add", #"{"x":"die"}"#)
        #expect(end.isError && end.text.contains("I die"), "\(end)")
        let next = try await harness.call("s_add")
        #expect(!next.isError && next.text.split(separator: " ").first != first.split(separator: " ").first)
        await harness.servers.stop()
    }

    @Test func programThatEndsWhenItIsDiscoveredBeginsWithAHandshake() async throws {
        // As servers do that take any other first message for an error.
        let script = #"""
            *server/discover*) exit 1 ;;
            *'"initialize"'*) first=$line; answer '{"protocolVersion":"2025-11-25"}' ;;
            *tools/call*die*) exit 1 ;;
            *tools/call*) case "$first" in *initialize*) answer '\#(Self.hello)' ;; esac ;;
            """#
        let harness = try Harness(try program(script))
        await harness.start()
        #expect(try await harness.call("s_add") == ("hello", false))
        #expect(try await harness.call("s_add", #"{"x":"die"}"#).isError)
        #expect(try await harness.call("s_add") == ("hello", false))
        await harness.servers.stop()
    }

    @Test func requestOfTheProgramIsAnswered() async throws {
        let script = #"""
            *tools/call*) echo '{"jsonrpc":"2.0","id":"p","method":"ping"}'; IFS= read -r pong
                echo '{"jsonrpc":"2.0","id":8,"method":"roots/list"}'; IFS= read -r no
                case "$pong$no" in *'"id":"p","result":{}'*'"id":8,"error":{"code":-32601'*) answer '\#(Self.hello)' ;; esac ;;
            """#
        let harness = try Harness(try program(script))
        await harness.start()
        #expect(try await harness.call("s_add") == ("hello", false))
        await harness.servers.stop()
    }

    @Test func callThatIsCancelledIsToldToTheProgram() async throws {
        // The program answers the second call only after it has read that the first one is cancelled.
        let script = #"""
            *tools/call*wait*) waiting=$id; asked=1 ;;
            *notifications/cancelled*) case "$line" in *'"requestId":'"$waiting"'}'*) cancelled=1 ;; esac ;;
            *tools/call*) [ "$cancelled" ] && answer '\#(Self.hello)' ;;
            """#
        var description = try program(script)
        description.terms.timeout = .milliseconds(500)
        let harness = try Harness(description)
        while harness.names.isEmpty { await harness.start() }
        // After a pause of this process a call may end before it is sent.
        repeat {
            let result = try await harness.call("s_add", #"{"x":"wait"}"#)
            #expect(result == ("Error: the server has not answered within 0.5 s.", true))
        } while try await harness.call("s_add") != ("hello", false)
        await harness.servers.stop()
    }

    @Test(arguments: [
        ("exit 1", "the program has"), ("echo wrong >&2; exit 1", "wrong"),
        ("head -c 5000000 /dev/zero; sleep 3600", "message of more"),
        (#"yes '{"jsonrpc":"2.0","id":"\#(String(repeating: "x", count: 200))","method":"ping"}'"#, "does not read"),
    ])
    func programThatCannotBeUsedIsAProblem(start: String, problem: String) async throws {
        let harness = try Harness(try program("", start: start))
        await harness.start()
        #expect(harness.names.isEmpty)
        #expect(harness.problems.contains { $0.contains(problem) }, "\(harness.problems)")
        await harness.servers.stop()
    }

    @Test func programThatDoesNotExistIsAProblem() async throws {
        let harness = try Harness(
            MCPDescription(name: "s", transport: .program(MCPDescription.Program(arguments: ["/nonexistent"]))))
        await harness.start()
        #expect(harness.problems.contains { $0.contains("/nonexistent") }, "\(harness.problems)")
        await harness.servers.stop()
    }

    @Test func linesArriveInPieces() {
        var lines = LineBuffer()
        var found: [String] = []
        for byte in Array("a\n\nbc\nd".utf8) {
            lines.bytes.append(byte)
            #expect(lines.forEach { found.append(String(decoding: $0, as: UTF8.self)) })
        }
        #expect(found == ["a", "bc"])
        lines.bytes += Array("e\nf\n".utf8)
        #expect(lines.forEach { found.append(String(decoding: $0, as: UTF8.self)) } && found == ["a", "bc", "de", "f"])
    }
}

extension UpstreamRequest {
    fileprivate var text: String { String(decoding: body, as: UTF8.self) }

    /// The method of the message, or an empty text.
    fileprivate var rpcMethod: String { (try? JSONSlice(body))?.last("method", .string)?.string ?? "" }

    /// The id of the message.
    fileprivate var rpcID: String {
        (try? JSONSlice(body))?.last("id", .number).map { String(decoding: $0.bytes, as: UTF8.self) } ?? "null"
    }

    /// The answer with a result.
    fileprivate func result(_ result: String, session: String? = nil) -> [UpstreamStep] {
        .plain(
            200, #"{"jsonrpc":"2.0","id":\#(rpcID),"result":\#(result)}"#,
            fields: session.map { [("Mcp-Session-Id", $0)] } ?? [])
    }
}
