import ChatterdBasics

/// The lines of an exported conversation: docs/api.md.
extension ByteBuffer {
    /// Appends the first line of a file.
    public mutating func append(_ header: ConversationHeader) {
        appendJSON { json in
            json.object { json in
                json.member("chatterd", "conversation")
                json.member("version", ConversationFileReader.version)
                json.member("conversation", header.name)
                json.member("title", header.title)
                json.member("created_at", time: header.createdAt)
                json.member("updated_at", time: header.updatedAt)
                json.member("archived_at", time: header.archivedAt)
                json.member("metadata", members: header.metadata)
            }
        }
        append("\n")
    }

    /// Appends the line of a row.
    ///
    /// - Parameter above: the number of the row above it; 0 for the first row.
    public mutating func append(_ row: ConversationRow, below above: Int64) {
        appendJSON { json in
            json.object { json in
                json.member("seq", Int(row.seq))
                if above != row.seq - 1 {
                    json.member("above", Int(above))
                }
                json.member("kind", row.kind.word)
                if let after = row.after {
                    json.member("after", Int(after))
                }
                Self.write(row, to: &json)
            }
        }
        append("\n")
    }

    private static func write(_ row: ConversationRow, to json: inout JSONWriter) {
        switch row.kind {
        case .message: break
        case .prompt(let turn): json.member("turn", Int(turn))
        case .reply(let reply):
            json.member("id", reply.id.description)
            if !reply.model.isEmpty {
                json.member("model", reply.model)
            }
            json.member("state", (reply.state ?? .interrupted).rawValue)
            if reply.attempt != 1 {
                json.member("attempt", Int(reply.attempt))
            }
        case .choice:
            json.member("time", time: row.time)
            return
        }
        json.name("role")
        json.string(row.role.span)
        json.name("content")
        json.string(row.content.span)
        json.member("thinking", nonempty: row.thinking)
        json.member("extras", members: row.extras)
        json.member("time", time: row.time)
        guard case .reply(let reply) = row.kind else { return }
        json.member("finished_at", time: reply.finishedAt)
        json.member("options", members: reply.options)
        if !reply.lastEvent.isEmpty {
            json.name("last_event")
            json.raw { $0.append(repairingJSON: reply.lastEvent.span) }
        }
        json.member("provenance", members: reply.provenance)
    }

    /// Appends the last line of a complete file.
    public mutating func append(endOfFileWith rows: Int) {
        appendJSON { json in
            json.object { json in
                json.member("end", true)
                json.member("rows", rows)
            }
        }
        append("\n")
    }

    /// Appends the last line of a file that cannot be completed.
    public mutating func append(endOfFileAfter error: RelayError) {
        appendJSON { json in
            json.object { json in
                json.member("error", error.message)
                json.member("code", error.code.rawValue)
                json.member("retryable", error.code.isRetryable)
            }
        }
        append("\n")
    }
}

extension ConversationRow.Kind {
    /// The name of the kind in a file.
    var word: String {
        switch self {
        case .message: "message"
        case .prompt: "prompt"
        case .reply: "reply"
        case .choice: "choice"
        }
    }
}
