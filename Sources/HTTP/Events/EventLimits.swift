/// The limits of an event of an event stream, in bytes.
public struct EventLimits: Sendable, Hashable {
    /// Bytes of one line, without its line end.
    public var line = 1024 * 1024
    /// Bytes of the data of one event.
    public var data = 4 * 1024 * 1024

    /// The defaults.
    public init() {}
}
