import ChatterdBasics
import ChatterdChat

extension ConversationRow {
    /// The greatest number of an imported row. Later rows of the conversation have greater ones.
    public static let largestSeq: Int64 = 1 << 53
    /// The limit of the role of an imported message, in bytes. Rows of other servers have names of people there.
    public static let roleLimit = 1_024

    /// Reads the row of a line.
    init(_ line: borrowing ConversationLineMembers) throws(ConversationLineFault) {
        let seq = try line.required(.seq, try line.integer(.seq, in: 1...Self.largestSeq))
        let kind = try line.required(.kind, try line.string(.kind, upTo: 16))
        self.init(
            seq: seq, kind: try Self.kind(kind, of: line, seq: seq), after: try line.integer(.after, in: 0...(seq - 1)),
            time: try line.required(.time, try line.time(.time)))
        guard self.kind != .choice else {
            guard after != nil else { throw ConversationLineFault("after is missing") }
            return
        }
        role = try line.required(.role, try line.text(.role, upTo: Self.roleLimit))
        content = try line.required(.content, try line.text(.content))
        if case .reply = self.kind {
            thinking = try line.text(.thinking) ?? []
            var hasSteps = false
            extras = try line.members(.extras) { name, value in
                hasSteps = hasSteps || name == "steps"
                return (name == "tool_calls" || name == "steps") && value.isArray(of: .object)
            }
            // As the store writes them: a history has the steps before the rest of the answer.
            guard !hasSteps || AnswerSteps(in: extras.span) != nil else {
                throw ConversationLineFault("extras must begin with steps, and each call in them must have its result")
            }
        } else {
            extras = try line.members(.extras, Self.isExtra)
        }
    }

    private static func kind(
        _ word: String, of line: borrowing ConversationLineMembers, seq: Int64
    ) throws(ConversationLineFault) -> Kind {
        switch word {
        case "message": return .message
        case "choice": return .choice
        case "prompt":
            return .prompt(turn: try line.required(.turn, try line.integer(.turn, in: (seq + 1)...(largestSeq + 1))))
        case "reply": return .reply(try Reply(line))
        default: throw ConversationLineFault("kind must be message, prompt, reply or choice")
        }
    }

    /// Whether a message of a request may have the member.
    private static func isExtra(_ name: String, _ value: Span<UInt8>) -> Bool {
        switch name {
        case "thinking", "name", "tool_name", "tool_call_id": value[0] == UInt8(ascii: "\"")
        case "tool_calls": value.isArray(of: .object)
        case "images": value.isArray(of: .string)
        default: false
        }
    }
}

extension ConversationRow.Reply {
    fileprivate init(_ line: borrowing ConversationLineMembers) throws(ConversationLineFault) {
        guard let id = try line.string(.id, upTo: 36).flatMap({ ReplyID(parsing: $0) }) else {
            throw ConversationLineFault("id must be the id of a reply")
        }
        let model = try line.string(.model, upTo: ModelName.maximumLength) ?? ""
        guard model.isEmpty || ModelName.isValid(model) else {
            throw ConversationLineFault("model must not contain control characters")
        }
        guard let state = try line.string(.state, upTo: 16).flatMap(ReplyState.init(rawValue:)) else {
            throw ConversationLineFault("state must be complete, failed, cancelled or interrupted")
        }
        self.init(
            id: id, model: model, state: state, attempt: try line.integer(.attempt, in: 1...999_999_999) ?? 1,
            options: try Self.options(of: line), lastEvent: try Self.lastEvent(of: line, state),
            provenance: try line.members(.provenance) { name, value in
                name == "parts" && value.isArray(of: .object) || name == "receipt" && value[0] == UInt8(ascii: "{")
            },
            finishedAt: try line.time(.finishedAt))
    }

    /// The members for the model server, with the checks of a request: a regenerated reply repeats them.
    private static func options(of line: borrowing ConversationLineMembers) throws(ConversationLineFault) -> [UInt8] {
        let stored = try line.members(.options) { _, _ in true }
        guard !stored.isEmpty else { return [] }
        // Only a request of the client itself says what its history is.
        var members = ByteBuffer()
        members.append(((try? [RawMember](decodingMembers: stored)) ?? []).withoutHistory)
        guard !members.isEmpty else { return [] }
        let head = #"{"model":"m","messages":[{"role":"user","content":"x"}],"#
        let body = Array(head.utf8) + members.array + [0x7D]
        guard let request = try? ChatRequest(decoding: body.span, permitsKept: true), request.model == "m",
            request.messages.count == 1
        else { throw ConversationLineFault("options has a member that a request cannot have") }
        var text = ByteBuffer()
        text.append(request.passThrough)
        return text.array
    }

    /// The last event, with the checks of a line of a model server, as readers get it unchanged.
    private static func lastEvent(
        of line: borrowing ConversationLineMembers, _ state: ReplyState
    ) throws(ConversationLineFault) -> [UInt8] {
        guard let event = try line.object(.lastEvent) else { return [] }
        guard let parsed = try? AnswerLine(event.span), parsed.isDone, !parsed.needsRepair,
            (parsed.error != nil) == (state == .failed || state == .interrupted)
        else { throw ConversationLineFault("last_event must be the last event of a reply of this state") }
        return event
    }
}

extension Span<UInt8> {
    /// Whether the JSON value is an array with elements of one type.
    fileprivate func isArray(of kind: JSONKind) -> Bool {
        var reader = JSONReader(self)
        guard (try? reader.beginArray()) != nil else { return false }
        while (try? reader.nextElement()) == true {
            guard (try? reader.kind()) == kind, (try? reader.skipValue()) != nil else { return false }
        }
        return true
    }
}
