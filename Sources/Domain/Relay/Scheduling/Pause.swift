/// A wait that can be ended early. Confined to its shard.
final class Pause {
    private let scheduler: Scheduler
    private var alarm: (any Alarm)?
    private var continuation: CheckedContinuation<Void, Never>?

    init(on scheduler: Scheduler) {
        self.scheduler = scheduler
    }

    /// Waits; one wait at a time.
    func wait(atMost duration: Duration) async {
        if alarm == nil {
            alarm = scheduler.makeAlarm { [unowned self] in end() }
        }
        alarm?.set(after: duration)
        await withCheckedContinuation { continuation = $0 }
        alarm?.cancel()
    }

    /// Ends the wait, if there is one.
    func end() {
        continuation.take()?.resume()
    }
}
