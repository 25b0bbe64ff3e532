import ChatterdBasics
import ChatterdHTTP

/// The body of a request and the memory reserved for it. Confined to its shard.
///
/// The last reference releases everything, at the latest when the handler returns. A handler may release them earlier.
public final class RequestBody {
    /// The bytes without framing; empty after `releaseBytes`.
    public private(set) var bytes: [UInt8] = []
    private var memory: MemoryReservation?
    /// Whether the account of a long body has been asked for.
    private var isAttributed = false
    /// The memory of what was read for the request.
    private var further: MemoryReservation?

    /// The length from `Content-Length`; `nil` if it is not known.
    private let expectedCount: Int?

    init(of framing: BodyFraming = .none) {
        expectedCount = if case .length(let count) = framing { count } else { nil }
    }

    /// The number of bytes.
    public var count: Int { bytes.count }

    /// Grows the reservation to `copies` copies of the body, for the work of a handler.
    ///
    /// - Returns: `false` if the budget has no room.
    public func expect(copies: Int) -> Bool {
        memory?.grow(to: bytes.count * copies, for: .history) ?? true
    }

    /// Lets the account of the request's app count the reservation of the body; `nil` for no account.
    ///
    /// - Returns: `false` if the app has its share of the budget.
    public func attribute(to account: MemoryAccount?) -> Bool {
        guard let memory else { return true }
        guard let moved = memory.moved(to: account, for: .body) else { return false }
        self.memory = moved
        return true
    }

    /// Keeps the reservation of what a handler has read for the request, until the body is released.
    public func keep(_ memory: MemoryReservation) {
        further = memory
    }

    /// Releases the bytes and keeps the reservation, for objects decoded from them.
    public func releaseBytes() {
        bytes = []
    }

    /// Releases the bytes and the reservation.
    public func release() {
        bytes = []
        memory = nil
        further = nil
    }

    /// Appends received bytes; `false` if the budget, or the account, has no room for them.
    ///
    /// - Parameter account: returns the account of the request's app; called once, when the body is no longer small.
    func append(_ more: Span<UInt8>, in budget: MemoryBudget, account: () -> MemoryAccount?) -> Bool {
        let count = bytes.count + more.count
        if count > MemoryUse.small, !isAttributed {
            isAttributed = true
            if let account = account() {
                memory = memory ?? budget.charge(0, account: account)
                guard attribute(to: account) else { return false }
            }
        }
        if let memory {
            guard memory.grow(to: count, for: .body) else { return false }
        } else {
            memory = budget.reserve(count, for: .body, account: nil)
            guard memory != nil else { return false }
        }
        if let expectedCount, bytes.capacity < count {
            // An array that doubles leaves as much freed memory behind as it has. A client that only announces a body gets no memory.
            bytes.reserveCapacity(min(expectedCount, 4 * count))
        }
        more.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        return true
    }
}
