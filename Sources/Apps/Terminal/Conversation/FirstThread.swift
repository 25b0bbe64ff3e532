import ChatterdBasics
import Dispatch
import Glibc
import Synchronization

/// The first thread of the process, as a place for calls that block on the terminal.
///
/// The kernel gives the signals of a process to its first thread if it can. libedit edits in one thread and handles the signals of a
/// changed window there, so that thread must be the first one.
final class FirstThread: Confinement, Sendable {
    static let shared = FirstThread()

    private let jobs = Lock<[@Sendable () -> Void]>([])
    /// The thread that serves; 0 before.
    private let thread = Atomic<UInt>(0)
    private let ready = DispatchSemaphore(value: 0)

    /// Runs the calls of other threads until the process exits. Call it on the first thread.
    func serve() -> Never {
        thread.store(pthread_self(), ordering: .relaxed)
        while true {
            ready.wait()
            let job = jobs.withLock { $0.removeFirst() }
            job()
        }
    }

    /// Runs a block on this thread, and returns its value.
    func run<Value: Sendable>(_ block: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            jobs.withLock { $0.append { continuation.resume(returning: block()) } }
            ready.signal()
        }
    }

    /// Stops the program unless the caller runs on this thread.
    func preconditionCurrent() {
        precondition(thread.load(ordering: .relaxed) == pthread_self(), "called outside of the first thread")
    }
}
