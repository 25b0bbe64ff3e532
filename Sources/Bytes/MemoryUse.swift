/// What memory is reserved for. Each use may fill the budget up to a share of its own, so that what comes in cannot take the room
/// that is needed to finish what has begun.
public enum MemoryUse: Sendable, CaseIterable {
    /// Request bodies while they arrive: half of the budget.
    case body
    /// Prompts on their way into the store, and histories on their way to a model server: three quarters.
    case history
    /// Results of the database: seven eighths.
    case result
    /// What waits to be sent to a client: all of it.
    case output

    /// What is so small that it may use all of the budget: the prompt of a client that does nothing unusual.
    static let small = 32 * 1024

    /// The bytes of a budget that may be in use when a reservation comes to `count` bytes.
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
