import ChatterdBasics

/// Writes the new content of all replies of the process to the store, once per tick and in one statement. From any thread.
///
/// The journal runs while the process has replies, on the shard of its first service. Each service collects the content of its
/// replies on its own shard.
public final class Journal: Sendable {
    private let home: Scheduler
    private let isRunning = Lock(false)
    /// When the store has taken the last flush, or the journal has begun.
    private let writtenAt = Lock(Instant.distantPast)
    private let writer: Confined<JournalWriter>

    /// Creates the journal of a process, which is then set in each of its services; `nil` without services.
    public init?(services: [ChatService], tick: Duration) {
        guard let first = services.first else { return nil }
        home = first.scheduler
        writer = Confined(
            JournalWriter(
                services: services.map(\.reference), home: home, store: first.store, board: first.board,
                directory: first.directory, tick: tick, isRunning: isRunning, writtenAt: writtenAt),
            to: home)
    }

    /// The time since the store has taken the last flush; zero while the process has no replies.
    ///
    /// - Parameter now: the caller's clock.
    public func lag(at now: Instant) -> Duration {
        isRunning.withLock { $0 } ? max(.zero, now - writtenAt.withLock { $0 }) : .zero
    }

    /// Starts the flushes unless they run already.
    ///
    /// - Parameter now: the caller's clock.
    func begin(at now: Instant) {
        let wasRunning = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return isRunning
        }
        if !wasRunning {
            writtenAt.withLock { $0 = max($0, now) }
            home.run { [writer] in writer.value.start() }
        }
    }

    /// Begins the next flush at once, unless the store is unavailable.
    func flushNow() {
        home.run { [writer] in writer.value.flushNow() }
    }
}
