
/// A text that must not be shown: whatever prints it, prints `(secret)`.
public struct ConfigurationSecret: Sendable, Hashable {
    /// The text itself; for the one who connects with it.
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

    /// Nothing, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
