extension AnswerContext {
    /// Has the stream begin after the event with a number, as `starting_after` has it.
    ///
    /// - Throws: the fault of a text that is no number, and of an event of an earlier attempt at the answer.
    public mutating func resume(after text: String) throws(DoorFault) {
        guard let number = Int(text), number >= 0 else {
            throw .invalid("starting_after must be the sequence_number of an event.", "starting_after")
        }
        guard ResponseEventNumber.attempt(of: number).map({ $0 == attempt }) ?? true else {
            throw DoorFault(
                status: 409, code: "response_restarted",
                message: "The answer has restarted since that event. Read it again without starting_after.",
                parameter: "starting_after")
        }
        lastEvent = number
    }
}
