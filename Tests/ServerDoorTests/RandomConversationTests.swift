import ChatterdTestSupport
import Foundation
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

/// Conversations of clients that send their whole history through any door: they continue it, edit it, ask again, forget its head, and change
/// answers. What the model gets and what is stored is known beforehand.
@Suite(.timeLimit(.minutes(30))) struct RandomConversationTests {
    private static let paths = ["/api/chat", "/v1/chat/completions", "/v1/messages", "/v1/responses"]
    /// The number of conversations; an eighth of `CHATTERD_TEST_COURSES` in the environment.
    private static let courses =
        Int(ProcessInfo.processInfo.environment["CHATTERD_TEST_COURSES"] ?? "").map { $0 / 8 } ?? 24

    /// The present branch of a conversation.
    private struct Branch {
        /// Pairs of a prompt and an answer.
        var messages: [[String]] = []
        /// The indices of the answers of the model, with the APIs that asked for them; the others are those of the client.
        var replies: [(index: Int, path: String)] = []
    }

    /// A request: what the client sends, what the model gets, and how many messages are new.
    private struct Step {
        var sent: [[String]]
        var asked: [[String]]
        var new: Int
        /// The path of the request whose prompt this one repeats; `nil` if it repeats none that the model has answered.
        var repeated: String?
    }

    @Test func noMessageIsLostOrDoubled() async throws {
        let upstream = try ScriptedUpstream { request in .answer(["answer ", "\(request.number)"]) }
        try await onStage(upstream: upstream.url) { stage in
            for course in 0..<Self.courses {
                var random = SeededGenerator(seed: UInt64(course))
                var branch = Branch()
                var count = 0
                for number in 0..<Int.random(in: 2...9, using: &random) {
                    let step = step(branch, "prompt \(course).\(number)", &random)
                    let path = Self.paths.randomElement(using: &random) ?? ""
                    let fields = [("X-App-ID", "shop"), ("X-Conversation-ID", "course-\(course)")]
                    let answer = try RawClient.post(
                        port: stage.port, path, json: body(step, for: path, &random), fields: fields)
                    let note: Comment = "course \(course), request \(number) to \(path): \(step) \(answer.text)"
                    try #require(answer.status == 200, note)
                    try #require(upstream.requests.last?.messages == step.asked, note)
                    branch.messages = step.asked + [["assistant", "answer \(upstream.requests.count - 1)"]]
                    // An API whose members for the model server are the same gets another answer to the stored prompt.
                    let isAlternative =
                        path != "/v1/responses" && step.repeated.map(Self.members(of:)) == Self.members(of: path)
                    branch.replies.removeAll { $0.index >= step.asked.count - step.new }
                    branch.replies.append((step.asked.count, path))
                    count += isAlternative ? 1 : step.new + 1
                    let page = try stage.send("GET", "/conversations/course-\(course)?appID=shop&limit=200").json
                    let messages = page["messages"] as? [[String: Any]] ?? []
                    let active = messages.filter { $0["active"] as? Bool == true }
                    try #require(
                        active.map { [$0["role"] as? String ?? "", $0["content"] as? String ?? ""] } == branch.messages,
                        note)
                    // The other branches are kept, and nothing else is stored.
                    try #require(messages.count == count, note)
                }
            }
        }
    }

    /// The next request of a client that knows the present branch. Each text occurs once.
    private func step(_ branch: Branch, _ prompt: String, _ random: inout SeededGenerator) -> Step {
        let new = [["user", prompt]]
        let known = branch.messages
        guard !known.isEmpty else { return Step(sent: new, asked: new, new: 1) }
        let turn = Int.random(in: 0..<(known.count / 2), using: &random)
        let before = Array(known.prefix(2 * turn))
        /// The request with other messages behind the turns before that one. They follow the last answer of the model there.
        func other(_ messages: [[String]]) -> Step {
            let parent = branch.replies.last { $0.index < 2 * turn }?.index ?? -1
            return Step(sent: before + messages, asked: before + messages, new: turn * 2 + messages.count - parent - 1)
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return other(new)
        case 1:
            var step = other([known[2 * turn]])
            step.repeated = branch.replies.first { $0.index == 2 * turn + 1 }?.path
            return step
        case 2:
            // The client has forgotten the turns before this one. The model does not get them either.
            guard turn > 0 else { return Step(sent: known + new, asked: known + new, new: 1) }
            let rest = known.dropFirst(2 * turn) + new
            return Step(sent: Array(rest), asked: Array(rest), new: rest.count)
        case 3:
            var changed = known[(2 * turn)...] + new
            changed[2 * turn + 1][1] += ", changed"
            return other(Array(changed))
        default: return Step(sent: known + new, asked: known + new, new: 1)
        }
    }

    /// The members for the model server in the requests of an API.
    private static func members(of path: String) -> String {
        switch path {
        case "/v1/responses": ""
        case "/api/chat": "max_tokens"
        default: "options"
        }
    }

    /// The body of a request, with white space at the ends of known texts.
    private func body(_ step: Step, for path: String, _ random: inout SeededGenerator) -> String {
        let isResponse = path == "/v1/responses"
        var list: [String] = []
        for (index, message) in step.sent.enumerated() {
            var text = message[1]
            if index < step.sent.count - step.new, Bool.random(using: &random) { text = " \(text)\n" }
            list.append(#"{"role":"\#(message[0])","content":\#(jsonString(text))}"#)
        }
        let more = isResponse ? "" : #","max_tokens":9"#
        return
            #"{"model":"tiny","stream":false\#(more),"\#(isResponse ? "input" : "messages")":[\#(list.joined(separator: ","))]}"#
    }
}
