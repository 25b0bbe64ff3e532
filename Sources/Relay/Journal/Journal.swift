import ChatterdBasics

/// Writes the new content of all replies of the process to the store, once per tick and in one statement.
///
/// The journal runs while the process has replies, on the shard of its first service. Each service collects the content of its
/// replies on its own shard.
public final class Journal: @unchecked Sendable {
    /// The maximum of one flush, in bytes, approximately. The remaining content waits for the next flush.
    private static let flushLimit = 16 << 20
    /// The longest delay between two flushes while the store is unavailable.
    private static let longestPause = Duration.seconds(2)

    private let services: [ChatService]
    private let home: ChatService
    private let tick: Duration
    private let isRunning = Lock(false)
    private var alarm: (any Alarm)?
    /// The delay of the next flush while the store is unavailable.
    private var backoff: Backoff
    /// Whether a flush is in progress.
    private var isBusy = false
    /// Whether the next flush must not wait for the tick.
    private var isUrgent = false
    /// The content of the services for the flush in progress, as far as it is collected.
    private var collected: [(service: ChatService, flush: JournalFlush)] = []

    /// Creates the journal of a process, which is then set in each of its services; `nil` without services.
    public init?(services: [ChatService], tick: Duration) {
        guard let home = services.first else { return nil }
        self.services = services
        self.home = home
        self.tick = tick
        backoff = Backoff(first: tick * 2, longest: max(tick, Self.longestPause))
    }

    /// Starts the flushes unless they run already. From any thread.
    func begin() {
        let starts = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        if starts {
            home.scheduler.run { [self] in arm(after: tick) }
        }
    }

    /// Begins the next flush at once, unless the store is unavailable. From any thread.
    func flushNow() {
        home.scheduler.run { [self] in
            guard backoff.failures == 0 else { return }
            guard !isBusy else {
                isUrgent = true
                return
            }
            collect()
        }
    }

    /// Sets the alarm of the next flush.
    private func arm(after delay: Duration) {
        if alarm == nil {
            alarm = home.scheduler.makeAlarm { [unowned self] in collect() }
        }
        alarm?.set(after: delay)
    }

    private func collect() {
        guard !isBusy else { return }
        guard home.board.count > 0 else {
            backoff.reset()
            isRunning.withLock { $0 = false }
            // A turn may have been opened before that.
            if home.board.count > 0 {
                begin()
            }
            return
        }
        isBusy = true
        for service in services {
            service.scheduler.run { [self] in
                let flush = service.gatherJournal(limit: Self.flushLimit / services.count)
                home.scheduler.run { [self] in add(flush, from: service) }
            }
        }
    }

    private func add(_ flush: JournalFlush, from service: ChatService) {
        collected.append((service, flush))
        guard collected.count == services.count else { return }
        let all = collected
        collected = []
        home.scheduler.spawn { [self] in await write(all) }
    }

    private func write(_ collected: [(service: ChatService, flush: JournalFlush)]) async {
        let flushes = collected.filter { !$0.flush.isEmpty }
        var signals: [ReplySignal]?
        do throws(RelayError) {
            signals = try await home.store.journal(flushes.map(\.flush.batch))
        } catch {
            // The store is unavailable. The next flush includes this content.
            signals = nil
        }
        let isWritten = signals != nil
        for (service, flush) in flushes {
            service.scheduler.run { flush.end(isWritten: isWritten) }
        }
        for signal in signals ?? [] {
            guard let service = services[0].directory[signal.id] else { continue }
            service.scheduler.run { service.receive(signal) }
        }
        isBusy = false
        let isUrgent = isUrgent && isWritten
        self.isUrgent = false
        guard isWritten else { return arm(after: backoff.next()) }
        backoff.reset()
        if isUrgent {
            collect()
        } else {
            arm(after: tick)
        }
    }
}
