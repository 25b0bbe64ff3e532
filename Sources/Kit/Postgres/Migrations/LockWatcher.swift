import ChatterdBasics
import Dispatch

/// Asks, on a connection of its own, for which locks a session waits and who holds it up: the session itself cannot say so, and after its
/// wait it is too late to ask.
final class LockWatcher: Sendable {
    /// The time between two questions.
    private static let interval = DispatchTimeInterval.milliseconds(100)
    /// The number of questions with the same answer after which a wait is logged.
    private static let answersBeforeLine = 20

    private let stop = DispatchSemaphore(value: 0)
    private let seen = Lock("a session that is gone by now holds it up")

    /// Begins to watch.
    ///
    /// - Parameter log: gets a line for each session that holds the other one up for two seconds; `nil` if the wait ends by itself.
    init(session: Int, target: ConnectionTarget, log: (@Sendable (String) -> Void)? = nil) {
        DispatchQueue(label: "chatterd.postgres.watch").async { [stop, seen] in
            // Most statements are done before a connection is.
            guard stop.wait(timeout: .now() + Self.interval) == .timedOut else { return }
            do throws(PostgresError) {
                let connection = try BlockingConnection(target)
                var (pids, count) = ("", 0)
                while stop.wait(timeout: .now() + Self.interval) == .timedOut {
                    guard let blockers = try connection.run(MigrationStatements.blockers(ofSession: session)).first
                    else { continue }
                    seen.withLock { $0 = blockers.text }
                    (pids, count) = blockers.pids == pids ? (pids, count + 1) : (blockers.pids, 1)
                    if count == Self.answersBeforeLine {
                        log?(blockers.text)
                    }
                }
            } catch {
                seen.withLock { $0 = "who holds it up cannot be asked: \(error.message)" }
            }
        }
    }

    /// Ends the watch, and returns what held the session up when it last waited.
    func end() -> String {
        stop.signal()
        return seen.withLock { $0 }
    }
}
