import ChatterdRelay

extension AnswerContext {
    /// Has the stream begin after the event with a number, as `starting_after` has it.
    ///
    /// - Throws: `invalidRequest` for a text that is no number, `responseRestarted` for an event of an earlier attempt at the answer.
    public mutating func resume(after text: String) throws(RelayError) {
        guard let number = Int(text), number >= 0 else {
            throw .invalid("starting_after must be the sequence_number of an event.", "starting_after")
        }
        guard ResponseEventNumber.attempt(of: number).map({ $0 == attempt }) ?? true else {
            var error = RelayError(
                .responseRestarted, "The answer has restarted since that event. Read it again without starting_after.")
            error.parameter = "starting_after"
            throw error
        }
        lastEvent = number
    }
}
