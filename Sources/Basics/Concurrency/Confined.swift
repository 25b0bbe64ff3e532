/// A value that only code on its shard may use. Any thread may hold and pass it on.
///
/// This is the one way for a reference to a confined object to cross threads: a debug build stops at each use from elsewhere.
public struct Confined<Value>: @unchecked Sendable {
    /// Where the value may be used.
    public let confinement: any Confinement
    private let wrapped: Value

    /// Confines a value.
    public init(_ value: Value, to confinement: some Confinement) {
        wrapped = value
        self.confinement = confinement
    }

    /// The value, on its shard.
    public var value: Value {
        #if DEBUG
            confinement.preconditionCurrent()
        #endif
        return wrapped
    }
}
