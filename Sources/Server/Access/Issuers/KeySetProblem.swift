/// The reason why the keys of an issuer cannot be read.
struct KeySetProblem: Error, Sendable, Equatable {
    /// The reason for the operator: a sentence without any text that the issuer's server sent.
    let message: String
}
