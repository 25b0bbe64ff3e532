import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Chats of clients that have one identity, name no conversation, and send their whole history: to three processes, through any door, at
/// once. Many begin with the same words.
@Suite(.timeLimit(.minutes(30))) struct ChatsOfOneKeyTests {
    /// The number of courses; a hundredth of `CHATTERD_TEST_COURSES` in the environment.
    private static let courses =
        Int(ProcessInfo.processInfo.environment["CHATTERD_TEST_COURSES"] ?? "").map { $0 / 100 } ?? 8

    /// What the clients of a course have sent.
    private struct Sent {
        /// The messages of each request, those of the system as one.
        var requests: [[[String]]] = []
        /// The number of requests whose client has left before the answer.
        var cut = 0
        var unfinished = 0
        var failures: [String] = []
    }

    @Test func eachModelGetsWhatItsClientHasSentAndEachChatIsStored() async throws {
        let upstream = try ScriptedUpstream { request in .answer([Self.answer(to: request.messages)]) }
        try await onStage(upstream: upstream.url) { stage in
            let stages = [stage, try stage.startAnother(), try stage.startAnother()]
            let sent = Monitor(Sent())
            for course in 0..<Self.courses {
                sent.withLock { $0.unfinished = 8 }
                for chat in 0..<8 {
                    startThread {
                        var client = Client(
                            app: "shop-\(course)", hasChangingSystem: chat % 3 == 2, ports: stages.map(\.port),
                            random: SeededGenerator(seed: UInt64(course * 8 + chat)))
                        do {
                            try client.run(noting: sent)
                            try client.checkStoredBranch(of: stage)
                        } catch {
                            sent.withLock { $0.failures.append("chat \(chat): \(error)") }
                        }
                        sent.withLock { $0.unfinished -= 1 }
                    }
                }
                #expect(sent.wait(until: { $0.unfinished == 0 ? true : nil }) == true)
                let failures = sent.withLock { $0.failures }
                try #require(failures.isEmpty, "course \(course): \(failures)")
            }
            let (requests, cut) = sent.withLock { ($0.requests, $0.cut) }
            // The model may not have been asked for a client that has left, or may be asked now.
            let received = upstream.requests.map(\.messages)
            #expect(received.count >= requests.count - cut)
            var left = Dictionary(grouping: requests) { $0 }.mapValues(\.count)
            for messages in received {
                left[messages, default: 0] -= 1
                try #require(left[messages, default: 0] >= 0, "no client has sent \(messages)")
            }
            for other in stages.dropFirst() { try other.stop() }
        }
    }

    /// The answer of the model. It depends on the messages alone, so that chats with equal messages have equal histories.
    private static func answer(to messages: [[String]]) -> String {
        let chat = messages.filter { $0[0] != "system" }
        return chat.count == 1 ? "Hello!" : "answer to \(chat.last?[1] ?? "") after \(chat.count)"
    }

    /// A client with one chat.
    private struct Client {
        private static let paths = ["/api/chat", "/v1/chat/completions", "/v1/messages", "/v1/responses"]
        let app: String
        let hasChangingSystem: Bool
        let ports: [Int]
        var random: SeededGenerator
        /// The chat as the client shows it.
        private var messages: [[String]] = []
        private var conversation = ""
        private var reply = ""
        private var step = 0

        init(app: String, hasChangingSystem: Bool, ports: [Int], random: SeededGenerator) {
            self.app = app
            self.hasChangingSystem = hasChangingSystem
            self.ports = ports
            self.random = random
        }

        mutating func run(noting sent: Monitor<Sent>) throws {
            for _ in 0..<Int.random(in: 1...7, using: &random) {
                step += 1
                prepare()
                let asked = hasChangingSystem ? [["system", "It is \(step)."]] + messages : messages
                let path = Self.paths.randomElement(using: &random) ?? ""
                let body = body(asked, for: path)
                // A client that leaves, or waits too long, asks again.
                for isCut in Int.random(in: 0..<6, using: &random) == 0 ? [true, false] : [false] {
                    sent.withLock {
                        $0.requests.append(asked)
                        if isCut { $0.cut += 1 }
                    }
                    let client = try RawClient(port: ports.randomElement(using: &random) ?? 0)
                    client.post(path, json: body, fields: [("X-App-ID", app)])
                    guard !isCut else {
                        client.close()
                        continue
                    }
                    let answer = try client.readResponse(of: "POST")
                    guard answer.status == 200, let location = answer["Location"] else {
                        throw TestFailure("step \(step), \(path): \(answer.status) \(answer.text)")
                    }
                    conversation = answer["X-Conversation-ID"] ?? ""
                    reply = String(location.dropFirst("/replies/".count))
                }
                messages.append(["assistant", ChatsOfOneKeyTests.answer(to: asked)])
            }
        }

        /// Makes the messages of the next request of those of the chat.
        private mutating func prepare() {
            let prompts = ["hi", "go on", "prompt \(step)"]
            let prompt = ["user", prompts.randomElement(using: &random) ?? ""]
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where !messages.isEmpty:
                // Another answer to the last prompt.
                messages.removeLast()
            case 1 where !messages.isEmpty:
                // The client has changed an earlier prompt.
                messages = messages.prefix(2 * Int.random(in: 0..<(messages.count / 2), using: &random)) + [prompt]
            case 2 where messages.count > 2:
                // It has forgotten the first turn.
                messages = messages.dropFirst(2) + [prompt]
            default:
                messages.append(messages.isEmpty ? ["user", "hi"] : prompt)
            }
        }

        private mutating func body(_ asked: [[String]], for path: String) -> String {
            let isAnthropic = path == "/v1/messages"
            let list = asked.filter { !isAnthropic || $0[0] != "system" }.map {
                #"{"role":"\#($0[0])","content":\#(jsonString($0[1]))}"#
            }
            let system = isAnthropic && hasChangingSystem ? #","system":\#(jsonString(asked[0][1]))"# : ""
            let limit = isAnthropic ? #","max_tokens":9"# : ""
            let members = #""model":"tiny","stream":\#(Bool.random(using: &random))\#(limit)\#(system)"#
            return #"{\#(members),"#
                + #""\#(path == "/v1/responses" ? "input" : "messages")":[\#(list.joined(separator: ","))]}"#
        }

        /// The branch of the last reply is what the client shows, apart from the messages of the system.
        func checkStoredBranch(of stage: Stage) throws {
            let forked = try RawClient.post(
                port: stage.port, "/conversations/\(conversation)/fork?appID=\(app)", json: #"{"reply":"\#(reply)"}"#)
            guard let copy = forked.json["conversation"] as? String else { throw TestFailure("fork: \(forked.text)") }
            let page = try stage.send("GET", "/conversations/\(copy)?appID=\(app)&limit=200").json
            let stored = (page["messages"] as? [[String: Any]] ?? []).map {
                [$0["role"] as? String ?? "", $0["content"] as? String ?? ""]
            }
            guard stored.filter({ $0[0] != "system" }) == messages else {
                throw TestFailure("stored: \(stored), shown: \(messages)")
            }
        }
    }
}
