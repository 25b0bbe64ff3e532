import ChatterClient
import FoundationEssentials

/// The commands `list` and `search`.
struct ConversationsTable {
    private let client: ChatterClient
    private let console: Console
    private let form: TerminalCommand.ListForm

    init(_ client: ChatterClient, _ console: Console, _ form: TerminalCommand.ListForm) {
        self.client = client
        self.console = console
        self.form = form
    }

    /// Writes up to `limit` conversations, page by page.
    func show(limit: Int, _ filter: ArchiveFilter, having text: String? = nil) async throws(ChatterError) {
        var left = limit
        var cursor: String?
        repeat {
            let page = try await client.conversations(limit: min(left, 200), cursor: cursor, filter, having: text)
            write(Array(page.conversations.prefix(left)))
            left -= page.conversations.count
            cursor = page.next
        } while cursor != nil && left > 0
    }

    private func write(_ conversations: [Conversation]) {
        switch form {
        case .names:
            for conversation in conversations {
                console.write(foreign: conversation.name + "\n")
            }
        case .json:
            for conversation in conversations {
                console.write(json: conversation.json.text + "\n")
            }
        case .table:
            var table = Table()
            for conversation in conversations {
                let mark = conversation.isRunning ? "running" : conversation.isArchived ? "archived" : ""
                table.add(conversation.name, conversation.updatedAt.localText, mark, conversation.title ?? "")
            }
            for (line, conversation) in zip(table.lines, conversations) {
                console.write(foreign: line + "\n")
                for match in conversation.matches ?? [] {
                    let excerpt = match.excerpt.split(whereSeparator: \.isNewline).joined(separator: " ")
                    console.write(foreign: "    \(match.role): \(excerpt)\n", .dim)
                }
            }
        }
    }
}

extension Conversation {
    /// The members that scripts use.
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = [
            "conversation": .string(name), "updated_at": .string(updatedAt.formatted(.iso8601)),
            "archived": .bool(isArchived), "running": .bool(isRunning),
        ]
        members["title"] = title.map { .string($0) }
        members["matches"] = matches.map { matches in
            .array(
                matches.map {
                    .object(["seq": .integer($0.seq), "role": .string($0.role), "excerpt": .string($0.excerpt)])
                })
        }
        return .object(members)
    }
}
