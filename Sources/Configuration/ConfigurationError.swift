
/// All that is wrong with a configuration, each in a sentence that says what is right; holds no secret.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One line for each problem.
    public let problems: [String]

    /// Gathers problems.
    public init(_ problems: [String]) {
        self.problems = problems
    }

    /// A heading and the problems, a line each.
    public var description: String {
        let heading = problems.count == 1 ? "the configuration has a problem:" : "the configuration has problems:"
        return ([heading] + problems.map { "  \($0)" }).joined(separator: "\n")
    }
}
