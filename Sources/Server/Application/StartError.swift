/// The step of the start that failed and the reason, as a sentence for the operator.
public struct StartError: Error, Sendable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
