/// A value that only code in its confinement may use. Any thread may hold it and pass it on.
///
/// A reference to a confined object crosses threads in this wrapper only. A debug build stops at each use from outside. A release of the
/// wrapper is not checked: the last one deallocates the object on the thread that releases it.
///
/// The type is `@unchecked Sendable` because `value` checks the confinement.
public struct Confined<Value>: @unchecked Sendable {
    /// Where the value may be used.
    public let confinement: any Confinement
    @usableFromInline let wrapped: Value

    /// Confines a value.
    @inlinable public init(_ value: Value, to confinement: some Confinement) {
        wrapped = value
        self.confinement = confinement
    }

    /// The value. The caller runs in the confinement; a debug build checks this.
    @inlinable public var value: Value {
        #if DEBUG
            confinement.preconditionCurrent()
        #endif
        return wrapped
    }
}

/// A serial context to which values are confined: a shard, or the scheduler that stands for one.
public protocol Confinement: Sendable {
    /// Stops the program unless the caller runs in this context.
    func preconditionCurrent()
}
