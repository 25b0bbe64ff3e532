import ChatterdBasics
import ChatterdChat
import ChatterdCryptography
import ChatterdHTTPClient
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets
import ChatterdTestSupport
import Testing

@testable import ChatterdHooks

/// Questions to hooks, and what follows from their answers.
@Suite(.timeLimit(.minutes(30))) struct OperatorHooksTests {
    private static let conversation = ConversationKey(Owner(app: "shop"))

    /// A hook that answers each request alike.
    private func server(_ status: Int = 200, _ body: String) throws -> ScriptedUpstream {
        let steps = [.head(status, [("Content-Length", "\(body.utf8.count)")]), UpstreamStep.send(body)]
        return try ScriptedUpstream(probing: { _ in steps }, { _ in steps })
    }

    private func hook(_ server: ScriptedUpstream, timeout: Duration = .seconds(600)) throws -> Hook {
        var hook = Hook(name: "h", origin: try Origin(parsing: server.url), path: "/check")
        hook.events = [.prompt, .answer]
        hook.timeout = timeout
        return hook
    }

    /// What is stored of a prompt that says "Hi".
    private func prompt(
        _ hooks: [Hook], observe: @escaping (HookCall) -> Void = { _ in }
    ) async throws
        -> String
    {
        let shard = try Shard(index: 0)
        let own = Confined(
            OperatorHooks(
                hooks, on: shard, memory: MemoryBudget(limit: 1 << 30), maximumText: 10, now: { 0 }, makeID: { "id" },
                observe: observe), to: shard)
        return try await Task(executorPreference: shard) {
            try await own.value.review(
                ChatRequest(appID: nil, model: "m", messages: [ModelMessage(role: "user", content: "Hi")]),
                in: Self.conversation
            ).map(\.content).joined()
        }.value
    }

    /// The code with which a prompt is refused; `nil` if it is stored.
    private func refusal(
        of hooks: [Hook], observe: @escaping (HookCall) -> Void = { _ in }
    ) async -> RelayError.Code? {
        do {
            _ = try await prompt(hooks, observe: observe)
            return nil
        } catch {
            return (error as? RelayError)?.code
        }
    }

    /// The text in place of the answer "Hello".
    private func answer(_ hooks: [Hook]) async throws -> String? {
        let shard = try Shard(index: 0)
        let own = Confined(
            OperatorHooks(
                hooks, on: shard, memory: MemoryBudget(limit: 1 << 30), maximumText: 10, now: { 0 }, makeID: { "id" }),
            to: shard)
        let text = try await Task(executorPreference: shard) {
            try await withCheckedContinuation { continuation in
                let answer = ReviewedAnswer(
                    reply: ReplyID(high: 0, low: 1), conversation: Self.conversation, model: "m",
                    text: Array("Hello".utf8))
                _ = own.value.review(answer) { continuation.resume(returning: $0) }
            }.get()
        }.value
        return text.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func eachHookSeesWhatTheOneBeforeHasLeft() async throws {
        let first = try server(200, #"{"action":"replace","messages":[{"role":"user","content":"One"}]}"#)
        let second = try server(204, "")
        #expect(try await prompt([try hook(first), try hook(second)]) == "One")
        let asked = try #require(second.requests.last)
        #expect(asked.path == "/check" && asked["webhook-id"] == "id" && asked["webhook-timestamp"] == "0")
        #expect(asked["webhook-signature"] == nil)
        #expect(String(decoding: asked.body, as: UTF8.self).contains(#""content":"One""#))
    }

    @Test func hookOfAnotherAppIsNotAsked() async throws {
        let server = try server(200, #"{"action":"refuse"}"#)
        var hook = try hook(server)
        hook.apps = AppSelection(["other", "sho", "shops*"])
        #expect(try await prompt([hook]) == "Hi" && server.requests.isEmpty)
        hook.apps = AppSelection(["sh*"])
        await #expect(throws: RelayError.self) { try await prompt([hook]) }
    }

    @Test func requestIsSigned() async throws {
        let server = try server(200, "")
        var hook = try hook(server)
        hook.key = AuthenticationKey(bytes: [1, 2, 3])
        _ = try await prompt([hook])
        let asked = try #require(server.requests.last)
        let signature = HookMessage.signature(
            of: asked.body, id: "id", timestamp: 0, with: AuthenticationKey(bytes: [1, 2, 3]))
        #expect(asked["webhook-signature"] == signature)
    }

    @Test func refusalHasTheReasonOfTheHook() async throws {
        let server = try server(200, #"{"action":"refuse","message":"No."}"#)
        let hook = try hook(server)
        await #expect(throws: RelayError(.promptRefused, "No.")) { try await prompt([hook]) }
        await #expect(throws: RelayError(.answerRefused, "No.")) { try await answer([hook]) }
    }

    @Test func answerIsReplacedByTheLastHookThatSaysSo() async throws {
        let first = try server(200, #"{"action":"replace","content":"One"}"#)
        let second = try server(200, #"{"action":"allow"}"#)
        #expect(try await answer([try hook(first), try hook(second)]) == "One")
        let asked = String(decoding: second.requests.last?.body ?? [], as: UTF8.self)
        #expect(asked.contains(#""content":"One""#))
        let allowed = try await answer([try hook(second)])
        #expect(allowed == nil)
    }

    @Test(arguments: [(500, "{}"), (302, ""), (200, "ok"), (200, #"{"action":"replace"}"#), (404, "")])
    func hookThatFailsRefusesUnlessItMayFail(status: Int, body: String) async throws {
        let server = try server(status, body)
        var hook = try hook(server)
        let calls = Lock<[String]>([])
        let code = await refusal(of: [hook]) { call in
            calls.withLock { $0.append("\(call.hook) \(call.event) \(call.outcome.word)") }
        }
        #expect(code == .hookFailed && calls.withLock { $0 } == ["h prompt failed"])
        hook.onFailure = .allow
        let (stored, sent) = (try await prompt([hook]), try await answer([hook]))
        #expect(stored == "Hi" && sent == nil)
    }

    @Test func hookThatHangsFails() async throws {
        let server = try ScriptedUpstream(probing: { _ in [.stall] }, { _ in [.stall] })
        let hook = try hook(server, timeout: .milliseconds(300))
        #expect(await refusal(of: [hook]) == .hookFailed)
    }
}
