import ChatterdRelay

/// The row of a reply, as `ReplyStatements.read` returns it. Only a closed reply has texts here.
struct StoredReply {
    /// `nil` while the reply is running.
    let state: ReplyState?
    let attempt: Int
    /// The data of the last event.
    let lastEvent: [UInt8]
    /// The size of the whole text, in bytes.
    let textSize: Int
    /// The size of all thoughts, in bytes.
    let thinkingSize: Int
    /// The text from the position that was asked for.
    let text: [UInt8]
    /// The thoughts from the position that was asked for.
    let thinking: [UInt8]
    /// The members of the message that `closeTurn` wrote: the tool calls, or none.
    let extras: [UInt8]
}
