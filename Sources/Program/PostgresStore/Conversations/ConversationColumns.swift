import ChatterdBasics
import ChatterdPostgres
import ChatterdRelay

/// Imported rows of a conversation, as one array for each column. -1, `noTime` and an empty text stand for NULL.
struct ConversationColumns {
    /// A time before all others.
    static let noTime: Int64 = -(1 << 60)

    private var seqs = ParameterArray()
    private var links = ParameterArray()
    private var turns = ParameterArray()
    private var times = ParameterArray()
    private var attempts = ParameterArray()
    private var ends = ParameterArray()
    private var totals = ParameterArray()
    private var states = ParameterArray()
    private var roles = ParameterArray()
    private var texts = ParameterArray()
    private var thoughts = ParameterArray()
    private var extras = ParameterArray()
    private var models = ParameterArray()
    private var options = ParameterArray()
    private var lastEvents = ParameterArray()
    private var provenances = ParameterArray()
    /// The large images of the rows.
    private(set) var attachments = Attachments()
    /// The size of the conversation with these rows and their attachments, in bytes.
    private(set) var size: Int

    /// Creates columns without rows.
    ///
    /// - Parameter size: the size of the rows before, in bytes.
    init(after size: Int) {
        self.size = size
    }

    mutating func append(_ row: ConversationRow) {
        seqs.append(row.seq)
        links.append(row.after ?? -1)
        times.append(row.time)
        roles.append(utf8: row.role.span)
        texts.append(utf8: row.content.span)
        thoughts.append(utf8: row.thinking.span)
        if let members = attachments.detach(from: row.extras.span) {
            extras.append(utf8: members.bytes)
        } else {
            extras.append(utf8: row.extras.span)
        }
        switch row.kind {
        case .message: appendRest("", turn: -1)
        case .prompt(let turn): appendRest("prompt", turn: turn)
        case .choice: appendRest("choice", turn: -1, total: size)
        case .reply(let reply):
            appendRest((reply.state ?? .interrupted).rawValue, turn: row.seq, total: size, reply)
        }
        size += row.size + ConversationStatements.rowCost
    }

    private mutating func appendRest(
        _ state: String, turn: Int64, total: Int = -1, _ reply: ConversationRow.Reply? = nil
    ) {
        let members = reply?.options ?? []
        let lastEvent = reply?.lastEvent ?? []
        let provenance = reply?.provenance ?? []
        states.append(state)
        turns.append(turn)
        totals.append(Int64(total))
        attempts.append(reply?.attempt ?? -1)
        ends.append(reply?.finishedAt ?? Self.noTime)
        models.append(reply?.model ?? "")
        options.append(utf8: members.span)
        lastEvents.append(utf8: lastEvent.span)
        provenances.append(utf8: provenance.span)
    }

    /// The arrays in the order of the statement.
    var parameters: [Parameter] {
        [seqs, links, turns, times, attempts, ends, totals].map { .array(of: .int8, [$0]) }
            + [states, roles, texts, thoughts, extras, models, options, lastEvents, provenances].map {
                .array(of: .text, [$0])
            }
    }
}
