import Synchronization

/// The memory that a process may use, shared by everything that a peer can make large: request bodies, histories, database
/// results, unsent output.
///
/// A part of the program reserves what it is about to hold, and does without when the budget is used up. Two figures must both
/// allow a reservation: the sum of all reservations, which counts memory that is promised and not touched yet, and the resident
/// memory of the process as measured last, which counts what is reserved nowhere. Safe on any thread.
public final class MemoryBudget: Sendable {
    /// The resident memory of the process in bytes, measured by the caller's system; 0 where it cannot be measured.
    public typealias Measure = @Sendable () -> Int

    /// The budget in bytes.
    public let limit: Int
    private let measure: Measure
    /// What the process takes when nothing is reserved.
    private let base: Int
    private let reserved = Atomic<Int>(0)
    /// The resident memory as measured last, and what was reserved since.
    private let resident: Atomic<Int>
    /// What was reserved since the last measurement.
    private let unmeasured = Atomic<Int>(0)

    /// Makes a budget; `measure` is called at once for what the process takes before it serves anything.
    public init(limit: Int, measure: @escaping Measure = { 0 }) {
        self.limit = limit
        self.measure = measure
        base = measure()
        resident = Atomic(base)
    }

    /// The bytes that are reserved.
    public var reservedBytes: Int { reserved.load(ordering: .relaxed) }

    /// The larger of what is promised and what was measured, in bytes.
    public var usedBytes: Int { max(base + reservedBytes, resident.load(ordering: .relaxed)) }

    /// Whether more than half of the budget is in use: then buffers that only make things faster stay small.
    public var isTight: Bool { usedBytes > limit / 2 }

    /// Reserves `count` bytes; nil when the share of `use` has no room for them.
    public func reserve(_ count: Int, for use: MemoryUse) -> MemoryReservation? {
        guard take(count, for: use, of: count) else { return nil }
        return MemoryReservation(of: count, in: self)
    }

    /// Notes bytes that are held already; always succeeds, and leaves less to others.
    public func charge(_ count: Int) -> MemoryReservation {
        add(count)
        return MemoryReservation(of: count, in: self)
    }

    /// Measures the resident memory; returns how much of it is reserved nowhere.
    @discardableResult
    public func update() -> Int {
        unmeasured.store(0, ordering: .relaxed)
        let measured = measure()
        resident.store(measured, ordering: .relaxed)
        return max(0, measured - base - reservedBytes)
    }

    /// What a client is told when there is no room, in one sentence that names the limit.
    public var refusal: String {
        "The memory budget of the server (CHATTERD_MEMORY, \(limit / 1_048_576) MiB) is used up. Try again in a moment."
    }

    /// Takes `count` bytes for what comes to `total` with them: whether that is small decides on its share.
    func take(_ count: Int, for use: MemoryUse, of total: Int) -> Bool {
        guard count > 0 else { return true }
        let share = use.share(of: limit, for: total)
        if unmeasured.load(ordering: .relaxed) > limit / 64 {
            update()
        }
        if usedBytes + count > share {
            // Memory may have been freed since it was measured last.
            update()
            guard usedBytes + count <= share else { return false }
        }
        add(count)
        return true
    }

    func add(_ count: Int) {
        reserved.wrappingAdd(count, ordering: .relaxed)
        resident.wrappingAdd(count, ordering: .relaxed)
        unmeasured.wrappingAdd(count, ordering: .relaxed)
    }

    func giveBack(_ count: Int) {
        reserved.wrappingSubtract(count, ordering: .relaxed)
    }
}
