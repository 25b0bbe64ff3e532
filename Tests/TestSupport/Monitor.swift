import Glibc

/// A state behind a mutex that threads can wait on.
///
/// It uses a pthread mutex and condition, because the thread sanitizer misreads `Synchronization.Mutex`.
public final class Monitor<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    /// Creates a monitor that guards `state`.
    public init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        defer { pthread_condattr_destroy(&attributes) }
        // The time of day may be set during a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Reads or changes the state with exclusive access, and wakes the waiting threads.
    public func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Blocks the thread until `body` returns a value; `nil` after `seconds`.
    public func wait<Result>(
        upTo seconds: Double = testTimeout, until body: (inout State) throws -> Result?
    ) rethrows
        -> Result?
    {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += Int(seconds)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = try body(&state) {
                pthread_cond_broadcast(condition)
                return result
            }
            if pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT {
                return try body(&state)
            }
        }
    }
}
