import ChatterdBasics

/// A call of a tool of the server that is new to a reader, or has another state than the reader knows.
public struct StepChange: Sendable {
    /// The limit of the arguments in an event, in bytes. Larger ones are left out; no call with them runs.
    static let maximumArguments = 64 << 10
    /// The limit of the result in an event, in bytes. The conversation has the whole one.
    static let maximumResult = 16 << 10

    public let place: StepPlace
    public let call: AnswerSteps.Call
    /// The round of the call.
    public var round = StepRound()

    /// The bytes of the call and its result.
    public var size: Int { call.arguments.count + call.result.count }
}

/// A round as its readers know it: where it ends in the answer, and how many calls it has.
public struct StepRound: Sendable, Equatable {
    /// The bytes of the texts of the answer up to the end of the round.
    public var textEnd = 0
    /// The bytes of the thoughts up to the end of the round.
    public var thinkingEnd = 0
    public var callCount = 0

    public init() {}

    /// The round that follows.
    fileprivate func followed(by round: AnswerSteps.Round) -> StepRound {
        var next = self
        next.textEnd += round.text.count
        next.thinkingEnd += round.thinking.count
        next.callCount = round.calls.count
        return next
    }
}

/// What a reader knows of the steps of a reply.
public struct KnownSteps: Sendable {
    private var states: [[AnswerSteps.State]] = []

    public init() {}

    /// Takes the present steps.
    ///
    /// - Returns: the calls that are new, or have another state than before.
    public mutating func take(_ steps: AnswerSteps) -> [StepChange] {
        var changes: [StepChange] = []
        var shape = StepRound()
        for (number, round) in steps.rounds.enumerated() {
            shape = shape.followed(by: round)
            for (index, call) in round.calls.enumerated() where state(number, index) != call.state {
                changes.append(
                    StepChange(place: StepPlace(round: number, index: index), call: call, round: shape))
            }
        }
        states = steps.rounds.map { $0.calls.map(\.state) }
        return changes
    }

    private func state(_ round: Int, _ index: Int) -> AnswerSteps.State? {
        guard states.indices.contains(round), states[round].indices.contains(index) else { return nil }
        return states[round][index]
    }
}

extension ByteBuffer {
    /// Appends changes as a JSON array.
    public mutating func append(_ changes: [StepChange]) {
        append("[")
        for (index, change) in changes.enumerated() {
            if index > 0 { append(",") }
            append(change)
        }
        append("]")
    }

    /// Appends a change as a JSON object.
    public mutating func append(_ change: StepChange) {
        let call = change.call
        append("{\"round\":")
        append(decimal: change.place.round)
        append(",\"index\":")
        append(decimal: change.place.index)
        if let id = call.id {
            append(",\"id\":")
            append(jsonString: id)
        }
        append(",\"name\":")
        append(jsonString: call.name)
        if call.arguments.count <= StepChange.maximumArguments {
            append(",\"arguments\":")
            append(call.arguments)
        }
        append(",\"state\":\"")
        append(utf8: call.state.rawValue)
        append("\"")
        if call.state.isEnd {
            append(",\"result\":")
            let end = call.result.characterBoundary(upTo: StepChange.maximumResult)
            append(jsonString: call.result.span.extracting(first: end))
            if end < call.result.count { append(",\"is_cut\":true") }
        }
        append("}")
    }
}

extension [UInt8] {
    /// The last boundary of a UTF-8 character at or before a limit.
    fileprivate func characterBoundary(upTo limit: Int) -> Int {
        guard count > limit else { return count }
        var end = limit
        while end > 0, self[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }
}
