import ChatterClient
import ChatterdBasics

/// A stored message as text.
struct MessageText {
    private let message: Message

    init(_ message: Message) {
        self.message = message
    }

    /// Writes the message, and the reason if it is an answer that failed.
    func write(to console: Console) {
        let isAnswer = message.role == "assistant"
        let author = message.role == "user" ? ">" : isAnswer ? message.model ?? "assistant" : message.role
        console.write(foreign: "\(author)\(isAnswer ? ":" : "") ", isAnswer ? .dim : .bold)
        console.write(foreign: message.content)
        if !message.content.hasSuffix("\n") {
            console.writeLine()
        }
        switch message.state {
        case .cancelled: console.writeLine("[stopped]", .dim)
        case .failed, .interrupted: console.write(foreign: "[\(message.error ?? "failed")]\n", .red)
        default: break
        }
    }
}
