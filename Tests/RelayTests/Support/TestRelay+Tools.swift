import ChatterdChat
import ChatterdRelay
import Testing

extension TestRelay {
    /// Has the model call tools, and ends its answer.
    func call(_ names: String..., saying text: String = "") throws {
        let answer = try answer()
        if !text.isEmpty { answer.send(text) }
        answer.sendLine(Self.line(names))
        answer.finish()
        clock.settle()
    }

    /// A line with calls of tools.
    static func line(_ calls: [String], content: String = "", done: String = #""done":false"#) -> String {
        let list = calls.map { #"{"function":{"name":"\#($0)","arguments":{"n":1}}}"# }.joined(separator: ",")
        let members = #""role":"assistant","content":"\#(content)","tool_calls":[\#(list)]"#
        return #"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{\#(members)},\#(done)}"#
    }

    /// Ends a call of a tool.
    func end(_ index: Int, _ text: String, isError: Bool = false) throws {
        try #require(tools.runs.count > index)
        tools.runs[index].end(text, isError: isError)
        clock.settle()
    }

    /// The stored calls of a reply: name, state and result.
    func steps(_ post: SentPrompt) -> [String] {
        let stored = post.id.flatMap { database.replies[$0]?.steps } ?? []
        return (AnswerSteps(in: stored.span)?.rounds ?? []).flatMap(\.calls).map {
            "\($0.name) \($0.state.rawValue) \(String(decoding: $0.result, as: UTF8.self))"
        }
    }

    /// Ends this process for the store, and has another one adopt its replies.
    func takeOver() -> TestRelay {
        let other = otherProcess()
        database.dead.insert(store.process)
        other.adopt()
        return other
    }
}
