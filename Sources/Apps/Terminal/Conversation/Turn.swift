import ChatterClient

/// A prompt of the active branch and its answer.
struct Turn: Equatable {
    let prompt: String
    /// The message that the prompt follows.
    let parent: Prompt.Parent
    /// The reply; `nil` if the server did not accept the prompt.
    var reply: ReplyID?

    /// The last turn on the active branch of a page; `nil` if there is none.
    static func last(in messages: [Message]) -> Turn? {
        let active = messages.filter(\.active)
        guard let index = active.lastIndex(where: { $0.role == "user" }) else { return nil }
        let reply = active[index...].compactMap(\.id).last
        let parent = active[index].parent ?? active[..<index].compactMap(\.id).last
        return Turn(prompt: active[index].content, parent: parent.map { .reply($0) } ?? .start, reply: reply)
    }
}
