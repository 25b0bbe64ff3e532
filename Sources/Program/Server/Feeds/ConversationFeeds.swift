import ChatterdBasics
import ChatterdHTTP
import ChatterdHTTPServer
import ChatterdIdentity
import ChatterdPostgresStore
import ChatterdRelay
import ChatterdSockets

/// The open feeds of a shard, and their one poll for changes that other processes make. Confined to its shard.
final class ConversationFeeds {
    /// The time between two polls. Changes by this process wake the feeds at once.
    static let interval = Duration.seconds(1)

    private let reader: FeedReader
    private let signals: ConversationSignals
    private let slots: FeedSlots
    private let memory: MemoryBudget
    private let shard: Shard
    private let limits: FeedWriter.Limits
    /// The time for which the feeds wait while the store is unavailable.
    private let storeRetryTimeout: Duration

    private var feeds: [ConversationKey: [ObjectIdentifier: ConversationFeed]] = [:]
    private var isStopping = false
    private var timer: DeadlineTimer?
    private var isPolling = false
    /// The time of the first of the polls that have failed; `nil` after a poll that succeeded.
    private var outageBegan: Instant?

    init(
        _ reader: FeedReader, signals: ConversationSignals, slots: FeedSlots, memory: MemoryBudget,
        limits: FeedWriter.Limits, storeRetryTimeout: Duration, on shard: Shard
    ) {
        self.reader = reader
        self.signals = signals
        self.slots = slots
        self.memory = memory
        self.limits = limits
        self.storeRetryTimeout = storeRetryTimeout
        self.shard = shard
    }

    /// Answers with the feed of a conversation. The feed continues after the return.
    ///
    /// - Throws: `conversationNotFound`, `overloaded`, `shuttingDown`, `storeUnavailable`, before the response begins.
    func serve(
        _ key: ConversationKey, after position: FeedPosition?, to responder: Responder, isHead: Bool,
        until watch: RevocationWatch
    ) async throws(RelayError) {
        guard !isStopping else { throw Self.stopping }
        try slots.reserve(for: key.owner)
        let feed = ConversationFeed(key, after: position, reader: reader, on: shard)
        // Before the first read, so that no change is missed.
        add(feed)
        let first: FeedPage
        do throws(RelayError) {
            first = try await feed.readFirst()
        } catch {
            remove(feed)
            throw error
        }
        guard responder.isWaiting, !isStopping else {
            remove(feed)
            if isStopping { throw Self.stopping }
            return
        }
        let stream = responder.stream(.ok, fields: Self.fields)
        guard !isHead else {
            remove(feed)
            stream.finish()
            return
        }
        let writer = FeedWriter(stream, responder: responder, limits: limits, memory: memory)
        feed.start(writer, with: first, until: watch) { [unowned self] in remove($0) }
    }

    private static let stopping = RelayError(
        .shuttingDown, "The server is being stopped. Continue at another one, or in a moment.")

    /// No proxy or cache may delay, change or keep the stream.
    private static let fields: Fields = [
        .contentType: "text/event-stream", .cacheControl: "no-cache, no-transform", .xAccelBuffering: "no",
    ]

    // MARK: - Members

    private func add(_ feed: ConversationFeed) {
        let key = feed.key
        if feeds[key] == nil {
            let feeds = Confined(self, to: shard)
            signals.follow(key, onShard: shard.index) { [shard] in
                shard.run { feeds.value.wake(key) }
            }
        }
        feeds[key, default: [:]][ObjectIdentifier(feed)] = feed
        guard timer == nil else { return }
        timer = DeadlineTimer(on: shard) { [unowned self] in tick() }
        timer?.set(after: Self.interval)
    }

    private func remove(_ feed: ConversationFeed) {
        let key = feed.key
        guard feeds[key]?.removeValue(forKey: ObjectIdentifier(feed)) != nil else { return }
        slots.release(feed.key.owner)
        if feeds[key]?.isEmpty == true {
            feeds[key] = nil
            signals.unfollow(key, onShard: shard.index)
        }
        if feeds.isEmpty {
            timer?.cancel()
            timer = nil
            outageBegan = nil
        }
    }

    private func wake(_ key: ConversationKey) {
        guard let followed = feeds[key] else { return }
        for feed in followed.values {
            feed.wake()
        }
    }

    /// Ends all feeds, because the process stops. Their readers continue at other processes.
    func stop() {
        isStopping = true
        endAll(Self.stopping)
    }

    private func endAll(_ error: RelayError) {
        for feed in feeds.values.flatMap(\.values) {
            feed.fail(error)
        }
    }

    // MARK: - The poll

    private func tick() {
        timer?.set(after: Self.interval)
        guard !isPolling else { return }
        isPolling = true
        let feeds = Confined(self, to: shard)
        Task(executorPreference: shard) {
            await feeds.value.poll()
            feeds.value.isPolling = false
        }
    }

    private func poll() async {
        let followed = Array(feeds.keys)
        guard !followed.isEmpty else { return }
        do throws(RelayError) {
            let heads = try await reader.heads(of: followed)
            outageBegan = nil
            for key in followed {
                for feed in (feeds[key] ?? [:]).values {
                    feed.check(heads[key])
                }
            }
        } catch {
            let began = outageBegan ?? shard.now
            outageBegan = began
            if shard.now - began >= storeRetryTimeout { endAll(error) }
        }
    }
}
