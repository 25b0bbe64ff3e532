import ChatterdBasics
import ChatterdChat
import ChatterdIdentity

/// The common services of the replies of a shard. Confined to its shard.
///
/// The hooks are the service's: a reply reports to it and reads stored text through it.
final class ReplyContext {
    let store: any ConversationStore
    let upstreams: UpstreamDirectory
    let slots: SlotQueue?
    let estimates: TokenEstimates
    let limits: RelayLimits
    let board: TurnBoard
    let scheduler: Scheduler
    /// Runs the tools of the server; `nil` if it has none.
    let tools: (any ToolRunner)?
    /// The hooks of the operator; `nil` without any.
    let hooks: (any HookRunner)?

    /// Whether the process accepts no more prompts.
    var isStopping = false
    /// Whether running replies end because the process stops.
    var isEnding = false

    /// Called for the metrics and the log.
    var observe: (ReplyEvent) -> Void = { _ in }
    /// The pieces of answers that have arrived.
    var pieces = 0
    /// Called when a reply has content that is not in the journal.
    var onDirty: (Reply) -> Void = { _ in }
    /// Called when a reply has so much of it that the journal must not wait for its tick.
    var flushJournal: () -> Void = {}
    /// Called when this process has finished a reply.
    var onFinished: (Reply) -> Void = { _ in }
    /// The follower that reads a reply from the store, from a position on.
    var follower: (ReplyRecord, ReplyPosition) -> ReplyFollower
    /// Reads one page of a reply, from memory or from the store.
    var readPage: (ReplyRecord, ReplyPosition) async throws(RelayError) -> ReplyPage
    /// Reads a whole reply.
    var readWhole: (ReplyRecord) async throws(RelayError) -> ReplyPage
    /// Resolves the unconfirmed openings of a conversation; returns whether the store had any of their turns.
    var resolveUnconfirmed: (_ conversation: ConversationKey) async throws(RelayError) -> Bool

    init(
        store: any ConversationStore, upstreams: UpstreamDirectory, slots: SlotQueue?, estimates: TokenEstimates,
        limits: RelayLimits, board: TurnBoard, scheduler: Scheduler, tools: (any ToolRunner)?,
        hooks: (any HookRunner)?,
        follower: @escaping (ReplyRecord, ReplyPosition) -> ReplyFollower,
        readPage: @escaping (ReplyRecord, ReplyPosition) async throws(RelayError) -> ReplyPage,
        readWhole: @escaping (ReplyRecord) async throws(RelayError) -> ReplyPage,
        resolveUnconfirmed: @escaping (ConversationKey) async throws(RelayError) -> Bool
    ) {
        self.store = store
        self.upstreams = upstreams
        self.slots = slots
        self.estimates = estimates
        self.limits = limits
        self.board = board
        self.scheduler = scheduler
        self.tools = tools
        self.hooks = hooks
        self.follower = follower
        self.readPage = readPage
        self.readWhole = readWhole
        self.resolveUnconfirmed = resolveUnconfirmed
    }

    /// Runs a call of the store, and retries while the store is unavailable, up to the store's timeout.
    ///
    /// - Parameter pause: the wait between retries; its owner may end it early.
    /// - Throws: the error of the last call.
    func retryWhileStoreIsUnavailable(
        _ pause: Pause, _ call: () async throws(RelayError) -> Void
    ) async throws(RelayError) {
        var retry = StoreRetry(since: scheduler.now())
        while true {
            do throws(RelayError) {
                return try await call()
            } catch {
                guard !isStopping,
                    let delay = retry.delay(after: error, within: limits.storeRetryTimeout, now: scheduler.now())
                else { throw error }
                await pause.wait(atMost: delay)
            }
        }
    }

    /// Reads the history of a turn. Retries until `memoryTimeout` while the budget has no memory for it.
    ///
    /// - Parameters:
    ///   - reach: how far back the history is read; `nil` for all of it.
    ///   - pause: the wait between retries; its owner may end it early.
    ///   - cancellation: the reason to end, if there is one.
    /// - Throws: the reason to end; the error of the last call.
    func readHistory(
        of turn: Turn, for id: ReplyID, reach: HistoryReach?, _ pause: Pause, unless cancellation: () -> RelayError?
    ) async throws(RelayError) -> TurnHistory {
        let start = scheduler.now()
        while true {
            if let cancellation = cancellation() { throw cancellation }
            do throws(RelayError) {
                return try await store.history(of: turn, for: id, reach: reach)
            } catch  where error.code == .overloaded {
                guard scheduler.now() - start < limits.memoryTimeout else { throw error }
                await pause.wait(atMost: limits.turnPoll)
            }
        }
    }

    /// How far back the history of a prompt to a model is read; `nil` for all of it.
    func reach(of model: String, passThrough: [RawMember], in conversation: ConversationKey) -> HistoryReach? {
        estimates.reach(
            for: upstreams.targets(for: model), passThrough: passThrough, conversation: conversation)
    }
}
