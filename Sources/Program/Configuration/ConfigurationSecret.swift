/// A text that must not be shown. It is printed as `(secret)`.
public struct ConfigurationSecret: Sendable, Hashable {
    /// The text itself, for the connection that needs it.
    public let value: String

    /// Hides a text.
    public init(_ value: String) {
        self.value = value
    }
}

extension ConfigurationSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `(secret)`.
    public var description: String { "(secret)" }

    /// `(secret)`.
    public var debugDescription: String { "(secret)" }

    /// Empty, so that `dump` does not show the text.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
