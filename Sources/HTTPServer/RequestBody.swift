import Bytes

/// The body of a request, and the memory that is reserved for it. Confined to its shard.
///
/// Both go with the last reference, and so when the handler has returned; a handler that has taken what it needs lets go of them
/// earlier.
public final class RequestBody: @unchecked Sendable {
    /// The bytes, unframed; none after `releaseBytes`.
    public private(set) var bytes: [UInt8] = []
    private var memory: MemoryReservation?

    init() {}

    /// The number of bytes.
    public var count: Int { bytes.count }

    /// Reserves memory for so many copies of the body in all: what a handler makes of it while it works.
    ///
    /// - Returns: whether there is room for them.
    public func expect(copies: Int) -> Bool {
        memory?.grow(to: bytes.count * copies, for: .history) ?? true
    }

    /// Lets go of the bytes, and keeps what is reserved for what was made of them.
    public func releaseBytes() {
        bytes = []
    }

    /// Lets go of everything.
    public func release() {
        bytes = []
        memory = nil
    }

    /// Appends bytes that have arrived; false when the budget has no room for them.
    func append(_ more: Span<UInt8>, in budget: MemoryBudget) -> Bool {
        let count = bytes.count + more.count
        if let memory {
            guard memory.grow(to: count, for: .body) else { return false }
        } else {
            memory = budget.reserve(count, for: .body)
            guard memory != nil else { return false }
        }
        more.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        return true
    }
}
