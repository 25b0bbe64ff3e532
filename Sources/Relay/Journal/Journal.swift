import ChatterdBasics

/// Writes what all replies of the process have grown by into the store: once a tick, in one statement.
///
/// It runs while replies are being made, on the shard of its first service; the others are asked, each on its own.
public final class Journal: @unchecked Sendable {
    /// The bytes of one round, about: what is more waits for the next one.
    private static let roundLimit = 16 << 20
    /// The longest pause between two rounds while the store is away.
    private static let longestPause = Duration.seconds(2)

    private let services: [ChatService]
    private let home: ChatService
    private let tick: Duration
    private let isRunning = Lock(false)
    private var alarm: (any Alarm)?
    /// The time to the next round: the tick, or longer while the store is away.
    private var pause: Duration
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
        pause = tick
    }

    /// Begins its rounds unless they go on already. From any thread.
    func begin() {
        let begins = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        if begins {
            home.scheduler.run { [self] in arm() }
        }
    }

    /// Begins the next round at once, unless the store is away. From any thread.
    func hurry() {
        home.scheduler.run { [self] in
            guard pause == tick else { return }
            guard !isBusy else {
                isUrgent = true
                return
            }
            collect()
        }
    }

    private func arm() {
        if alarm == nil {
            alarm = home.scheduler.makeAlarm { [unowned self] in collect() }
        }
        alarm?.set(after: pause)
    }

    private func collect() {
        guard !isBusy else { return }
        guard home.board.count > 0 else {
            pause = tick
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
        pause = isWritten ? tick : max(tick, min(pause * 2, Self.longestPause))
        let isUrgent = isUrgent && isWritten
        self.isUrgent = false
        if isUrgent {
            collect()
        } else {
            arm()
        }
    }
}
