/// A place where a value does not have the form that was asked for.
public struct SchemaViolation: Error, Sendable, Hashable, CustomStringConvertible {
    /// The place: `$.authors[2]`.
    public let path: String
    public let reason: String

    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    public var description: String { "\(path) \(reason)" }
}
