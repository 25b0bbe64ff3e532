import ChatterdBasics

/// The flushes of a journal. Confined to the journal's shard.
final class JournalWriter {
    /// The maximum of one flush, in bytes, approximately. The remaining content waits for the next flush.
    private static let flushLimit = 16 << 20
    /// The number of replies from which on a tick has several flushes, so that each of them is short.
    private static let slicedReplies = 512
    /// The number of flushes over which the replies are spread then.
    private static let slices = 4
    /// The longest delay between two flushes while the store is unavailable.
    private static let longestPause = Duration.seconds(2)

    /// The content of one service for the flush in progress.
    private struct Part: Sendable {
        let service: ChatServiceReference
        let flush: Confined<JournalFlush>
        let isCarried: Bool
        /// The content, confined to the journal's shard until the flush ends; `nil` if the service has none.
        let batch: Confined<any JournalBatch>?
    }

    private let services: [ChatServiceReference]
    private let home: Scheduler
    private let store: any ConversationStore
    private let board: TurnBoard
    private let directory: ReplyDirectory
    private let tick: Duration
    /// Whether flushes follow each other. Set from any thread.
    private let isRunning: Lock<Bool>
    /// Read from any thread.
    private let writtenAt: Lock<Instant>
    private var alarm: (any Alarm)?
    /// The delay of the next flush while the store is unavailable.
    private var backoff: Backoff
    /// Whether a flush is in progress.
    private var isBusy = false
    /// Whether the next flush must not wait for the tick.
    private var isUrgent = false
    private var collected: [Part] = []
    /// The newest known generation of sheets.
    private var generation: Int32 = 0

    init(
        services: [ChatServiceReference], home: Scheduler, store: any ConversationStore, board: TurnBoard,
        directory: ReplyDirectory, tick: Duration, isRunning: Lock<Bool>, writtenAt: Lock<Instant>
    ) {
        self.services = services
        self.home = home
        self.store = store
        self.board = board
        self.directory = directory
        self.tick = tick
        self.isRunning = isRunning
        self.writtenAt = writtenAt
        backoff = Backoff(first: tick * 2, longest: max(tick, Self.longestPause))
    }

    /// Sets the alarm of the first flush.
    func start() {
        schedule(after: tick)
    }

    /// Begins the next flush at once, unless the store is unavailable.
    func flushNow() {
        guard backoff.failures == 0 else { return }
        guard !isBusy else {
            isUrgent = true
            return
        }
        collect()
    }

    private func schedule(after delay: Duration) {
        if alarm == nil {
            alarm = home.makeAlarm { [unowned self] in collect() }
        }
        alarm?.set(after: delay)
    }

    /// Collects the content of all services, unless the process has no replies.
    private func collect() {
        guard !isBusy else { return }
        guard board.count > 0 else { return stop() }
        isBusy = true
        let writer = Confined(self, to: home)
        let round = JournalRound(
            limit: Self.flushLimit / services.count, generation: generation, slices: isSliced ? Self.slices : 1)
        for service in services {
            service.run { [home] chat in
                let flush = chat.gatherJournal(round)
                let part = Part(
                    service: service, flush: Confined(flush, to: service.scheduler), isCarried: flush.isCarried,
                    batch: flush.isEmpty ? nil : Confined(flush.batch, to: home))
                home.run { writer.value.add(part) }
            }
        }
    }

    private var isSliced: Bool { board.count >= Self.slicedReplies }

    /// The time to the next flush. With one slice more than the replies are spread over, no reply waits longer than a tick.
    private var delay: Duration { isSliced ? tick / (Self.slices + 1) : tick }

    private func stop() {
        backoff.reset()
        isRunning.withLock { $0 = false }
        // A turn may have been opened before that.
        guard board.count > 0 else { return }
        let wasRunning = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return isRunning
        }
        if !wasRunning { start() }
    }

    private func add(_ part: Part) {
        collected.append(part)
        guard collected.count == services.count else { return }
        let parts = collected
        collected = []
        home.spawn(with: self) { await $0.write(parts) }
    }

    private func write(_ parts: [Part]) async {
        let batches = parts.compactMap { $0.batch?.value }
        if parts.allSatisfy(\.isCarried) {
            store.releaseSheets(before: generation)
        }
        var outcome: JournalOutcome?
        do throws(RelayError) {
            outcome = try await store.journal(batches)
        } catch {
            // The store is unavailable. The next flush includes this content.
            outcome = nil
        }
        let isWritten = outcome != nil
        generation = outcome?.generation ?? generation
        let written = outcome?.generation
        for part in parts where part.batch != nil {
            part.service.run { _ in part.flush.value.end(writtenIn: written) }
        }
        for signal in outcome?.signals ?? [] {
            directory[signal.id]?.run { $0.receive(signal) }
        }
        isBusy = false
        let isUrgent = isUrgent && isWritten
        self.isUrgent = false
        guard isWritten else { return schedule(after: backoff.next()) }
        writtenAt.withLock { $0 = home.now() }
        backoff.reset()
        if isUrgent {
            collect()
        } else {
            schedule(after: delay)
        }
    }
}

/// What a flush of the journal includes.
struct JournalRound: Sendable {
    /// The maximum of the content of one shard, in bytes, approximately.
    var limit: Int
    /// The newest generation of sheets that the process knows.
    var generation: Int32
    /// The number of flushes over which the replies of a shard are spread.
    var slices = 1
}
