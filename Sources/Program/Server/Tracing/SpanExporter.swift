import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdSockets
import ChatterdTracing

/// Sends spans to a collector, in batches (OTLP over HTTP, with JSON). Safe on any thread.
///
/// Spans wait in memory up to a limit, as the JSON that is sent: the thread that has made a span frees its parts, so threads do not wait for
/// the lock of each other's heap. Without a collector spans are dropped and counted; requests never wait.
final class SpanExporter: Sendable {
    /// The number of attempts to send a batch.
    static let attempts = 5

    /// Spans that wait, and what has happened to the others.
    private struct State {
        /// Whole batches.
        var whole = Queue<SpanBatch>()
        /// The batch that grows.
        var last: SpanBatch
        /// The number of spans in all batches.
        var waiting = 0
        var sent = 0
        var dropped = 0
        /// Whether the log says that spans are dropped for lack of room.
        var isFull = false
        /// The number of dropped spans at the last tick of the timer.
        var droppedBefore = 0
    }

    /// The part that is confined to the shard.
    private final class Schedule {
        var timer: DeadlineTimer?
        var round: Task<Void, Never>?
        /// The pause before a batch is sent again.
        var pause: Task<Void, Never>?
        /// Whether the spans that are no whole batch yet are sent too.
        var sendsPart = false
        var isEnding = false
        /// Whether the last batch was not sent.
        var hasFailed = false
    }

    private let settings: Configuration.Tracing
    private let document: SpanDocument
    /// The time that the stop of the process waits for the last batches.
    private let stopLimit: Duration
    private let shard: Shard
    private let collector: Confined<Collector>
    private let log: Log
    private let state: Lock<State>
    private let schedule: Confined<Schedule>

    /// - Returns: `nil` without tracing.
    init?(_ settings: Configuration.Tracing, stopLimit: Duration, on shard: Shard, log: Log) {
        guard let collector = Collector(settings, on: shard) else { return nil }
        self.collector = Confined(collector, to: shard)
        self.settings = settings
        self.stopLimit = stopLimit
        self.shard = shard
        self.log = log
        document = SpanDocument(resource: settings.resource, version: Version.current)
        state = Lock(State(last: document.makeBatch()))
        schedule = Confined(Schedule(), to: shard)
    }

    /// How many spans the collector has, and how many were dropped.
    var figures: (sent: Int, dropped: Int) { state.withLock { ($0.sent, $0.dropped) } }

    /// Adds spans, which are sent soon. Those that exceed the limit are dropped.
    func add(_ spans: borrowing SpanTexts) {
        let (isBatch, isFullNow) = state.withLock { state in
            let hadWhole = state.waiting >= settings.batchSize
            let kept = min(spans.count, max(0, settings.queueSize - state.waiting))
            for index in 0..<kept { append(spans[index], to: &state) }
            state.dropped += spans.count - kept
            let isFullNow = kept < spans.count && !state.isFull
            if isFullNow { state.isFull = true }
            return (hadWhole != (state.waiting >= settings.batchSize), isFullNow)
        }
        if isFullNow { log.event(.warning, "traces not sent", .error("more spans wait than OTEL_BSP_MAX_QUEUE_SIZE")) }
        if isBatch { shard.run { [self] in sendBatchesInTask(withPart: false) } }
    }

    private func append(_ span: Span<UInt8>, to state: inout State) {
        if state.last.count == settings.batchSize {
            state.whole.append(state.last)
            state.last = document.makeBatch()
        }
        state.last.append(span)
        state.waiting += 1
    }

    /// The oldest whole batch; `nil` if none waits.
    ///
    /// - Parameter orPart: Whether the last batch is taken although it has fewer spans.
    private func takeBatch(orPart: Bool) -> SpanBatch? {
        state.withLock { state in
            if let batch = state.whole.popFirst() {
                state.waiting -= batch.count
                return batch
            }
            guard state.waiting >= (orPart ? 1 : settings.batchSize) else { return nil }
            defer { (state.last, state.waiting) = (document.makeBatch(), 0) }
            return state.last
        }
    }

    /// Begins to send. Call it on the shard.
    func start() {
        schedule.value.timer = DeadlineTimer(on: shard) { [unowned self] in
            schedule.value.timer?.set(after: settings.delay)
            state.withLock { state in
                if state.dropped == state.droppedBefore { state.isFull = false }
                state.droppedBefore = state.dropped
            }
            sendBatchesInTask(withPart: true)
        }
        schedule.value.timer?.set(after: settings.delay)
    }

    /// Sends what waits, for a short time, and stops. Call it on the shard.
    func end() async {
        let schedule = schedule.value
        schedule.timer = nil
        (schedule.isEnding, schedule.sendsPart) = (true, true)
        schedule.pause?.cancel()
        try? await shard.withTimeout(stopLimit) { [self] in
            await self.schedule.value.round?.value
            await sendBatches()
        }
        schedule.round?.cancel()
        let left = state.withLock { state in
            state.dropped += state.waiting
            defer { state.waiting = 0 }
            return state.waiting
        }
        if left > 0 { log.event(.warning, "traces not sent", .count(left), .error("the process stops")) }
    }

    /// - Parameter withPart: Whether the spans that are no whole batch yet are sent too.
    private func sendBatchesInTask(withPart: Bool) {
        let schedule = schedule.value
        guard !schedule.isEnding, state.withLock({ $0.waiting > 0 }) else { return }
        if withPart { schedule.sendsPart = true }
        guard schedule.round == nil else { return }
        schedule.round = Task(executorPreference: shard) { [self] in
            await sendBatches()
            self.schedule.value.round = nil
        }
    }

    private func sendBatches() async {
        let schedule = schedule.value
        while !Task.isCancelled, let batch = takeBatch(orPart: schedule.sendsPart) {
            // Under load each further part would be a request with a few spans.
            let count = batch.count
            if count < settings.batchSize { schedule.sendsPart = schedule.isEnding }
            let body = await LongWork.run(on: batch.size) { batch.json() }
            let (rejected, problem) = await send(body, of: count)
            state.withLock { state in
                state.sent += count - rejected
                state.dropped += rejected
            }
            report(problem)
        }
    }

    /// Sends a batch, again if the collector says so or does not answer.
    ///
    /// - Returns: how many of its spans the collector does not have, and why.
    private func send(_ body: [UInt8], of count: Int) async -> (rejected: Int, problem: String?) {
        var backoff = Backoff(first: .seconds(1), longest: .seconds(8))
        var answer = await collector.value.send(body, spans: count)
        for _ in 1..<Self.attempts {
            guard case .unavailable = answer, !schedule.value.isEnding else { break }
            await pause(backoff.next())
            answer = await collector.value.send(body, spans: count)
        }
        guard case .taken(let rejected, let problem) = answer else { return (count, answer.problem) }
        return (rejected, problem)
    }

    /// Waits for some time. The stop of the process ends the wait, and one attempt follows.
    private func pause(_ time: Duration) async {
        let pause = Task(executorPreference: shard) { _ = try? await Task.sleep(for: time) }
        schedule.value.pause = pause
        await pause.value
        schedule.value.pause = nil
    }

    /// Logs the first batch that was not sent, and the first one that was sent after it.
    private func report(_ problem: String?) {
        let schedule = schedule.value
        guard schedule.hasFailed != (problem != nil) else { return }
        schedule.hasFailed = problem != nil
        if let problem {
            log.event(.warning, "traces not sent", .error(problem))
        } else {
            log.event(.info, "traces sent again")
        }
    }
}
