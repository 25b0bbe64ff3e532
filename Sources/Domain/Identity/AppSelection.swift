import ChatterdBasics

/// The apps that an operator has chosen: names, or beginnings before `*`. None for all apps.
public struct AppSelection: Sendable {
    /// The texts, as the operator has written them.
    public let patterns: [String]

    public init(_ patterns: [String] = []) {
        self.patterns = patterns
    }

    /// Whether an app is one of them. Names are compared by their bytes.
    public func contains(_ app: String) -> Bool {
        patterns.isEmpty
            || patterns.contains { pattern in
                let beginning = pattern.utf8.dropLast()
                return pattern.utf8.last == UInt8(ascii: "*")
                    ? app.utf8.starts(with: beginning) : ExactText(app) == ExactText(pattern)
            }
    }
}
