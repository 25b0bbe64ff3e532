import ChatterdBasics

/// Why a database cannot store what requests send, though it may answer: the pools of a process share one. Safe on any thread.
public final class PoolHealth: Sendable {
    private struct State {
        var refusal: PostgresError?
        var unconnected: [ObjectIdentifier: PostgresError] = [:]
    }

    private let state = Lock(State())

    /// Creates the health of pools that have met no fault.
    public init() {}

    /// The newest refusal of a batch because the server lacks disk space or memory, or takes no writes; `nil` after `stored()`.
    public var refusal: PostgresError? { state.withLock { $0.refusal } }

    /// The refusal, or the reason for which a pool has no connection: what it gets does not run until it has one.
    public var fault: PostgresError? { state.withLock { $0.refusal ?? $0.unconnected.values.first } }

    /// Records that the server has stored something of a size that needs space.
    public func stored() {
        state.withLock { $0.refusal = nil }
    }

    /// Records the failure of a batch.
    func failed(_ error: PostgresError) {
        // Other limits, such as that of temporary files, are those of one statement.
        guard error.code == .readOnly || ["53100", "53200"].contains(error.sqlState) else { return }
        state.withLock { $0.refusal = error }
    }

    /// Records that a pool has no connection, and could not open one.
    func disconnected(_ pool: PostgresPool, _ error: PostgresError) {
        state.withLock { $0.unconnected[ObjectIdentifier(pool)] = error }
    }

    /// Records that a pool has a connection, or needs none any more.
    func connected(_ pool: PostgresPool) {
        state.withLock { $0.unconnected[ObjectIdentifier(pool)] = nil }
    }
}
