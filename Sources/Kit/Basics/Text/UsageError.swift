/// A mistake in the arguments or variables of a program, as a sentence for its user.
public struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sentence.
    public let description: String

    /// Creates an error from a sentence.
    public init(_ description: String) {
        self.description = description
    }
}
