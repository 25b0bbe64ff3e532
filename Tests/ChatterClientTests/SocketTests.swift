import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterClient

/// A client over real sockets.
@Suite(.timeLimit(.minutes(30))) struct SocketTests {
    private static let head = UpstreamStep.head(
        200,
        [("Content-Type", "text/event-stream"), ("Location", "/replies/a"), ("Transfer-Encoding", "chunked")])

    /// A client that waits for the server as long as a test may take: the scripts wait for the reader, and its task may stand still.
    private func client(of server: ScriptedUpstream) throws -> ChatterClient {
        ChatterClient(
            address: server.url, transport: try .system(to: server.url, silence: .seconds(testTimeout)),
            credential: .app("tests"),
            retries: RetryPolicy(first: .nanoseconds(1), longest: .nanoseconds(1)))
    }

    /// The server sends each event after the client has shown the one before: a client that waits for more bytes, or for the whole body,
    /// would wait for ever.
    @Test func eachEventArrivesBeforeTheNextIsSent() async throws {
        let gates = (0..<20).map { _ in Gate() }
        var script = [Self.head]
        for (index, gate) in gates.enumerated() {
            script += [.chunk(textEvent("\(index)", "\(index) ")), .wait(for: gate)]
        }
        script += [.chunk(textEvent("20-end", "", done: true)), .endChunks]
        let server = try ScriptedUpstream(script)
        var shown = 0
        for try await event in try client(of: server).answer(to: Prompt("Hi")) {
            guard case .text(let text) = event else { continue }
            #expect(text == "\(shown) ")
            gates[shown].open()
            shown += 1
        }
        #expect(shown == gates.count)
    }

    @Test func cancelledReaderClosesItsConnection() async throws {
        let gate = Gate()
        let server = try ScriptedUpstream([Self.head, .chunk(textEvent("1", "a")), .open(gate), .stall])
        let client = try client(of: server)
        let task = Task {
            for try await _ in client.answer(to: Prompt("Hi")) {}
        }
        let request = try #require(try await blocking { try server.waitForRequests(1) }.first)
        _ = try await blocking { gate.wait() }
        task.cancel()
        try await blocking { _ = try server.waitForClose(of: request) }
        // A task that is cancelled between two events ends its iteration without an error.
        do { try await task.value } catch { #expect(error as? ChatterError == .cancelled) }
    }

    /// A server that loses its connections at random bytes: snapshots only grow, and the end has the whole text.
    @Test func answersSurviveConnectionsThatAreCutAnywhere() async throws {
        let tokens = (0..<12).map { "wörd\($0) " }
        let whole = tokens.joined()
        let generator = Lock(SeededGenerator(seed: 31))
        let steps: @Sendable (UpstreamRequest) -> [UpstreamStep] = { request in
            var (events, length) = ("", 0)
            let position = request["Last-Event-ID"].flatMap { Int($0) } ?? 0
            for token in tokens {
                length += token.utf8.count
                if length > position { events += textEvent("\(length)", token) }
            }
            let bytes = Array((events + textEvent("\(length)-end", "", done: true)).utf8)
            let cut = generator.withLock { Int.random(in: 0...bytes.count + bytes.count / 2, using: &$0) }
            let chunk = UpstreamStep.chunk(Array(bytes.prefix(cut)))
            guard cut < bytes.count else { return [Self.head, chunk, .endChunks] }
            let isReset = generator.withLock { Bool.random(using: &$0) }
            return (cut == 0 ? [Self.head] : [Self.head, chunk]) + [isReset ? .reset : .close]
        }
        let server = try ScriptedUpstream(probing: steps, steps)
        let client = try client(of: server)
        for run in 0..<1_000 {
            var last = Answer()
            for try await answer in client.snapshots(of: Prompt("Hi")) {
                guard answer.text.hasPrefix(last.text), whole.hasPrefix(answer.text) else {
                    Issue.record("run \(run): \(answer.text) after \(last.text)")
                    return
                }
                last = answer
            }
            guard last.text == whole, last.isFinished else {
                Issue.record("run \(run) ended with \(last.text)")
                return
            }
        }
        #expect(server.connectionCount > 1_500)
    }
}
