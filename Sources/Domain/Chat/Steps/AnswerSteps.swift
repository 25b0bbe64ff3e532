import ChatterdBasics

/// The steps of an answer for which tools of the server ran: the calls of each round, what the model said before them, and their results.
///
/// The store has them in the row of the reply, as the member `steps` of its message: an array of messages in Ollama's form. The text of the
/// reply has what the model said in all rounds, as it was streamed; for model servers it is cut at the rounds again.
public struct AnswerSteps: Sendable {
    /// What is known of a call.
    public enum State: String, Sendable, CaseIterable {
        /// The call waits for a person's approval.
        case asked
        /// The tool has not begun.
        case waiting
        /// The tool has begun, and its end is not stored. The result says so, for the model of another process.
        case running
        /// The result is that of the tool.
        case done
        /// The tool has failed or refused the call. The result says why.
        case failed
        /// The call was not made: no person has approved it.
        case refused
        /// The process that ran the tool is gone, so the tool may have had its effect or not.
        case unknown

        /// Whether the state is the last one of a call.
        public var isEnd: Bool { self == .done || self == .failed || self == .refused || self == .unknown }
    }

    /// A call of a tool of the server.
    public struct Call: Sendable {
        /// The call as the model has made it: a JSON object.
        public let json: [UInt8]
        public let name: String
        /// The arguments: a JSON object.
        public let arguments: [UInt8]
        /// The id that the model server has given to the call.
        public let id: String?
        /// The tool on its server; `nil` for a tool of no named server.
        public var origin: ToolOrigin?
        public private(set) var state = State.waiting
        /// What the model reads as the result, in UTF-8.
        public private(set) var result = AnswerSteps.waitingResult

        /// Has the call wait for an approval.
        public mutating func ask() {
            (state, result) = (.asked, AnswerSteps.askedResult)
        }

        /// Permits the call.
        public mutating func approve() {
            (state, result) = (.waiting, AnswerSteps.waitingResult)
        }

        /// Records that the tool begins.
        public mutating func begin() {
            (state, result) = (.running, AnswerSteps.unknownResult)
        }

        /// Records the end of the call.
        public mutating func end(_ state: State, _ result: [UInt8]) {
            (self.state, self.result) = (state, result)
        }
    }

    /// What the model said in a request, up to the calls that it made.
    public struct Round: Sendable {
        public let text: [UInt8]
        public let thinking: [UInt8]
        public var calls: [Call]

        public init(text: [UInt8], thinking: [UInt8], calls: [Call]) {
            self.text = text
            self.thinking = thinking
            self.calls = calls
        }
    }

    public var rounds: [Round] = []

    /// The call at a place; `nil` if there is none.
    public subscript(place: StepPlace) -> Call? {
        guard rounds.indices.contains(place.round), rounds[place.round].calls.indices.contains(place.index) else {
            return nil
        }
        return rounds[place.round].calls[place.index]
    }

    /// The calls that wait for an approval.
    public var asked: [StepChange] {
        var known = KnownSteps()
        return known.take(self).filter { $0.call.state == .asked }
    }

    /// Creates steps without a round.
    public init() {}

    /// The result of a call until it begins.
    static let waitingResult = Array("The call was not made: the server stopped before it.".utf8)
    /// The result of a call that waits for an approval.
    static let askedResult = Array("The call was not made: no person has approved it.".utf8)

    /// The result of a call until its end is stored.
    static let unknownResult = Array(
        "The outcome of this call is unknown: the server stopped while the tool ran. It may have had its effect.".utf8)

    /// The messages for a model server.
    public var messages: EncodedConversation {
        var messages = EncodedConversation()
        for round in rounds {
            messages.append(role: "assistant".utf8.span, content: round.text.span, extras: round.members.span)
            for call in round.calls {
                messages.append(role: "tool".utf8.span, content: call.result.span, extras: call.members.span)
            }
        }
        return messages
    }

    /// The member of the message in the store.
    public var member: [UInt8] {
        var json = ByteBuffer()
        json.append(Self.memberStart)
        for (index, round) in rounds.enumerated() {
            if index > 0 { json.append(",") }
            json.append(messageWithRole: "assistant".utf8.span, content: round.text.span, extras: round.members.span)
            for call in round.calls {
                json.append(",")
                json.append(
                    messageWithRole: "tool".utf8.span, content: call.result.span, extras: call.storedMembers.span)
            }
        }
        json.append("]")
        return json.array
    }

    private static var memberStart: StaticString { "\"steps\":[" }

    /// Reads the steps that the further members of a message begin with; `nil` if they begin with something else.
    public init?(in members: Span<UInt8>) {
        guard let message = Self.message(members), let steps = AnswerSteps(of: message) else { return nil }
        self = steps
    }

    /// The calls for the client among further members that begin with steps: JSON objects with commas between them; empty if there are none.
    public static func callsAfterSteps(in members: Span<UInt8>) -> [UInt8] {
        guard let calls = message(members)?.last("tool_calls", .array) else { return [] }
        return Array(calls.bytes.dropFirst().dropLast())
    }

    /// Whether a message can stand as the answer of a reply that ended early: it has a text that is not blank, or steps, and no calls for the client.
    public static func isAnswer(text: Span<UInt8>, _ members: Span<UInt8>) -> Bool {
        members.isEmpty ? text.hasText : begin(members) && callsAfterSteps(in: members).isEmpty
    }

    /// Reads the steps of a message.
    fileprivate init?(of message: JSONSlice) {
        guard var rest = message.last("steps", .array)?.elements(first: .max)?[...] else { return nil }
        while let message = rest.popFirst() {
            guard let calls = message.last("tool_calls", .array)?.elements(first: .max) else { return nil }
            var round = Round(
                text: message.last("content", .string)?.utf8 ?? [],
                thinking: message.last("thinking", .string)?.utf8 ?? [], calls: calls.compactMap(Call.init))
            guard round.calls.count == calls.count, rest.count >= calls.count else { return nil }
            for index in calls.indices {
                let result = rest.removeFirst()
                let state = result.last("state", .string)?.string
                round.calls[index].end(
                    State.allCases.first { $0.rawValue == state } ?? .done, result.last("content", .string)?.utf8 ?? [])
                round.calls[index].origin = ToolOrigin(of: result)
            }
            rounds.append(round)
        }
    }

    /// The object of further members that begin with steps.
    fileprivate static func message(_ members: Span<UInt8>) -> JSONSlice? {
        guard begin(members) else { return nil }
        var text = ByteBuffer(capacity: members.count + 2)
        text.append("{")
        text.append(members)
        text.append("}")
        return try? JSONSlice(text.array)
    }

    /// Whether the further members of a message begin with steps.
    public static func begin(_ members: Span<UInt8>) -> Bool {
        let count = memberStart.utf8CodeUnitCount
        return members.count > count && members.extracting(first: count).isEqual(to: memberStart)
    }
}

extension AnswerSteps.Round {
    /// The further members of the message with its calls.
    fileprivate var members: [UInt8] {
        var json = ByteBuffer()
        json.append("\"tool_calls\":[")
        for (index, call) in calls.enumerated() {
            if index > 0 { json.append(",") }
            json.append(call.json)
        }
        json.append("]")
        if !thinking.isEmpty {
            json.append(",\"thinking\":")
            json.append(jsonString: thinking.span)
        }
        return json.array
    }
}

extension AnswerSteps.Call {
    /// Reads a call of an answer; `nil` if it has no name, or arguments of which no object can be made.
    public init?(_ call: JSONSlice) {
        guard let function = call.last("function", .object), let name = function.last("name", .string)?.string,
            let arguments = ToolArguments.object(
                of: function.last("arguments", .object) ?? function.last("arguments", .string))
        else { return nil }
        json = call.json
        self.name = name
        self.arguments = arguments
        id = call.last("id", .string)?.string
    }

    /// The members of the message with the result that name its call.
    fileprivate var members: [UInt8] {
        var json = ByteBuffer()
        json.append("\"tool_name\":")
        json.append(jsonString: name)
        if let id {
            json.append(",\"tool_call_id\":")
            json.append(jsonString: id)
        }
        return json.array
    }
}

extension AnswerSteps.Call {
    /// The members of the message with the result in the store.
    fileprivate var storedMembers: [UInt8] {
        var json = ByteBuffer()
        json.append(members)
        json.append(",\"state\":\"")
        json.append(utf8: state.rawValue)
        json.append("\"")
        if let origin {
            json.append(",")
            json.append(origin)
        }
        return json.array
    }
}

extension JSONSlice {
    /// The text of a string, in UTF-8.
    fileprivate var utf8: [UInt8]? { string.map { Array($0.utf8) } }
}

extension Span<UInt8> {
    /// Whether there is anything but white space and control characters.
    var hasText: Bool {
        for index in indices where self[index] > 0x20 { return true }
        return false
    }
}

extension ByteBuffer {
    /// Appends a message of a history whose further members begin with steps: those of the steps, then the rest of the answer, as JSON objects
    /// with commas between them.
    ///
    /// Steps that cannot be read are left out: no model server gets them.
    mutating func append(messageWithSteps members: Span<UInt8>, content: Span<UInt8>) {
        guard let message = AnswerSteps.message(members) else {
            append(messageWithRole: "assistant".utf8.span, content: content, extras: Span())
            return
        }
        let steps = AnswerSteps(of: message) ?? AnswerSteps()
        steps.messages.forEachRun { run in
            append(run)
            append(UInt8(ascii: ","))
        }
        var rest: [UInt8] = []
        if let calls = message.last("tool_calls", .array) {
            rest = Array("\"tool_calls\":".utf8) + calls.bytes
        }
        // The text of an import may be another one.
        let said = steps.rounds.flatMap(\.text)
        let begins = content.count >= said.count && content.extracting(first: said.count).array == said
        let text = begins ? content.extracting(droppingFirst: said.count) : content
        append(messageWithRole: "assistant".utf8.span, content: text, extras: rest.span)
    }
}
