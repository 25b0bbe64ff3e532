import ChatterdBasics
import ChatterdSockets
import Glibc

/// Ctrl-C, for the part of the program that runs. Without such a part it ends the program.
///
/// There is one object in a process, because Dispatch does not deliver a signal to a second source after the first one was cancelled.
final class Interrupts: Sendable {
    static let shared = Interrupts()

    private let handler: Lock<(@Sendable () -> Void)?>
    private let signals: Lock<Signals>

    private init() {
        let handler = Lock<(@Sendable () -> Void)?>(nil)
        self.handler = handler
        signals = Lock(
            Signals([SIGINT]) { _ in
                guard let handle = handler.withLock({ $0 }) else { exit(ExitCode.interrupted.rawValue) }
                handle()
            })
    }

    /// Runs `body`. Meanwhile Ctrl-C calls `handle`, on any thread.
    func handling<Value>(_ handle: @escaping @Sendable () -> Void, _ body: () async -> Value) async -> Value {
        let outer = handler.withLock { current in
            defer { current = handle }
            return current
        }
        defer { handler.withLock { $0 = outer } }
        return await body()
    }
}
