/// The purpose of a reservation. Each purpose has its own share of the budget. Input cannot take the memory that running replies
/// need to finish.
public enum MemoryUse: Sendable, CaseIterable {
    /// Request bodies while they arrive: half of the budget.
    case body
    /// Prompts on their way into the store, and histories on their way to a model server: three quarters.
    case history
    /// Results of the database: seven eighths.
    case result
    /// Output that waits for a client: all of it.
    case output

    /// Reservations up to this size may use all of the budget, in bytes. An ordinary prompt is smaller.
    public static let small = 32 * 1024

    /// The bytes of the budget that may be in use after a reservation of `count` bytes.
    func share(of limit: Int, for count: Int) -> Int {
        guard count > Self.small else { return limit }
        return switch self {
        case .body: limit / 2
        case .history: limit / 4 * 3
        case .result: limit / 8 * 7
        case .output: limit
        }
    }
}
