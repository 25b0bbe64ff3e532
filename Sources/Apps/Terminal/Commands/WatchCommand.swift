import ChatterClient

/// The command `watch`: a second screen of a conversation.
struct WatchCommand {
    let client: ChatterClient
    let console: Console
    let conversation: String

    /// Shows the last messages, and then what happens, until the conversation is deleted or an error ends it.
    func run(last: Int) async throws(ChatterError) {
        /// The number of the last shown message: the feed may repeat what the page had.
        var shown = 0
        do {
            for try await change in client.changes(of: conversation) {
                switch change {
                case .state, .reset: shown = try await showPage(last)
                case .prompt(let prompt) where prompt.seq > shown: try await show(prompt)
                case .replyStarted(let reply) where reply.seq > shown: await follow(reply.id)
                case .settings(let settings):
                    console.note(
                        "[\(settings.archived ? "archived" : "title"): \(settings.title ?? conversation)]", .dim)
                case .deleted:
                    console.note("[deleted]", .dim)
                    return
                case .connectionLost(let error, _): console.note("connection lost; resuming: \(error.message)", .yellow)
                case .resumed: console.note("connection restored", .yellow)
                case .prompt, .replyStarted, .replyEnded, .choice: break
                }
            }
        } catch {
            throw error as? ChatterError ?? .malformed("\(error)")
        }
    }

    /// Shows the last messages, and follows a reply that is running. Returns the number of the last one.
    private func showPage(_ count: Int) async throws(ChatterError) -> Int {
        let page = try await client.messages(of: conversation, limit: 200)
        for message in page.messages.filter(\.active).suffix(count) {
            if message.state == .streaming, let id = message.id {
                await follow(id)
            } else {
                MessageText(message).write(to: console)
            }
        }
        return page.last ?? 0
    }

    private func show(_ prompt: ConversationEvent.Prompt) async throws(ChatterError) {
        var text = prompt.content
        if text == nil {
            text = try await client.messages(of: conversation, limit: 1, after: max(prompt.seq, 1) - 1).messages.first?
                .content
        }
        console.write(foreign: prompt.role == "user" ? "> " : "\(prompt.role) ", .bold)
        console.write(foreign: "\(text ?? "")\n")
    }

    private func follow(_ reply: ReplyID) async {
        var printer = TextPrinter(console, showsThinking: true, hasStarted: true)
        do {
            for try await event in client.events(of: reply) {
                printer.show(event)
            }
        } catch {
            printer.fail(error as? ChatterError ?? .malformed("\(error)"))
        }
    }
}
