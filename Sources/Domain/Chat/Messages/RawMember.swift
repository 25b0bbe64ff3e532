import ChatterdBasics

/// A member of a JSON object whose value is passed on unchanged.
public struct RawMember: Sendable, Equatable {
    /// The name, decoded.
    public let key: String

    /// The value as JSON text.
    public let value: [UInt8]

    /// Creates a member; `value` must be JSON.
    public init(key: String, value: [UInt8]) {
        self.key = key
        self.value = value
    }
}
