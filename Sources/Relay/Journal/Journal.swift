import ChatterdBasics

/// Writes what all replies of the process have grown by into the store: once a tick, in one statement.
///
/// It runs while replies are being made, on the shard of its first service; the others are asked, each on its own.
public final class Journal: @unchecked Sendable {
    /// The bytes of one round, about: what is more waits for the next one.
    private static let roundLimit = 16 << 20
    /// The longest pause between two rounds while the store is unavailable.
    private static let longestPause = Duration.seconds(2)

    private let services: [ChatService]
    private let home: ChatService
    private let tick: Duration
    private let isRunning = Lock(false)
    private var alarm: (any Alarm)?
    /// The delay of the next round while the store is unavailable.
    private var backoff: Backoff
    /// A round is on its way.
    private var isBusy = false
    /// Somebody has so much to journal that the next round is not to wait.
    private var isUrgent = false
    /// What the services have found for the round that is on its way.
    private var found: [(service: ChatService, round: JournalRound)] = []

    /// Makes the journal of a process, which is then given to each of its services; nothing without services.
    public init?(services: [ChatService], tick: Duration) {
        guard let home = services.first else { return nil }
        self.services = services
        self.home = home
        self.tick = tick
        backoff = Backoff(first: tick * 2, longest: max(tick, Self.longestPause))
    }

    /// Begins its rounds unless they go on already. From any thread.
    func begin() {
        let begins = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        if begins {
            home.scheduler.run { [self] in arm(after: tick) }
        }
    }

    /// Begins the next round at once, unless the store is away. From any thread.
    func hurry() {
        home.scheduler.run { [self] in
            guard backoff.failures == 0 else { return }
            guard !isBusy else {
                isUrgent = true
                return
            }
            collect()
        }
    }

    /// Sets the alarm of the next round.
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
                let round = service.gatherJournal(limit: Self.roundLimit / services.count)
                home.scheduler.run { [self] in take(round, from: service) }
            }
        }
    }

    private func take(_ round: JournalRound, from service: ChatService) {
        found.append((service, round))
        guard found.count == services.count else { return }
        let all = found
        found = []
        home.scheduler.spawn { [self] in await write(all) }
    }

    private func write(_ found: [(service: ChatService, round: JournalRound)]) async {
        let found = found.filter { !$0.round.isEmpty }
        var signals: [ReplySignal]?
        do throws(RelayError) {
            signals = try await home.store.journal(found.map(\.round.sheet))
        } catch {
            // The store is away: the next round brings these and what comes until then.
            signals = nil
        }
        let isWritten = signals != nil
        for (service, round) in found {
            service.scheduler.run { round.end(isWritten: isWritten) }
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
