/// The problems of a configuration. Each says what would be right; none contains a secret.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One line for each problem.
    public let problems: [String]

    /// Creates an error with these problems.
    public init(_ problems: [String]) {
        self.problems = problems
    }

    /// A heading and the problems, a line each.
    public var description: String {
        let heading = problems.count == 1 ? "the configuration has a problem:" : "the configuration has problems:"
        return ([heading] + problems.map { "  \($0)" }).joined(separator: "\n")
    }
}
