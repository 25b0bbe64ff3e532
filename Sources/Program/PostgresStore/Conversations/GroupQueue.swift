import ChatterdBasics
import ChatterdIdentity
import ChatterdSockets

/// Lets changes of different conversations share transactions while the database is busy. Confined to its shard.
///
/// A change runs in a transaction of its own while few run. Otherwise it waits, and the next transaction has those that have come meanwhile, as
/// in a group commit: an idle database answers no later, and a busy one has less to do for each.
final class GroupQueue<Change: Sendable, Outcome: Sendable> {
    /// What the changes of a transaction have in common.
    struct Lane: Sendable, Equatable {
        /// The rows that they may touch.
        let scope: RowScope?
        /// The source whose limits they count against; `nil` for none. A source is locked before the owner, so a group with two sources could
        /// wait in a circle with another one.
        let source: UsageSource?

        init(scope: RowScope? = .current, source: UsageSource? = nil) {
            self.scope = scope
            self.source = source
        }
    }

    /// The number of transactions of one lane that run before its changes wait.
    static var concurrency: Int { 2 }
    /// The number of transactions that run before all changes wait.
    static var mostRunning: Int { 16 }
    /// The limits of a group: its changes, and their text in bytes.
    static var mostChanges: Int { 16 }
    static var mostBytes: Int { 256 * 1024 }
    /// The number of waiting changes among which the next one and those of its group are looked for.
    private static var mostCandidates: Int { 64 }

    /// A change of a conversation.
    struct Entry: Sendable {
        let change: Change
        let conversation: ConversationKey
        let lane: Lane
        /// The size of the text, in bytes.
        let bytes: Int

        init(_ change: Change, of conversation: ConversationKey, in lane: Lane, bytes: Int) {
            self.change = change
            self.conversation = conversation
            self.lane = lane
            self.bytes = bytes
        }
    }

    /// What a change does when its turn comes.
    enum Admission {
        /// It runs in a transaction of its own, and calls `leave` after that.
        case alone
        /// It runs in a transaction with those that follow it, calls `leave` after that, and resumes them.
        case leads([Follower])
        /// Another one has run it.
        case done(Outcome)
    }

    /// A change that waits for the one that leads its group.
    struct Follower {
        let entry: Entry
        fileprivate let continuation: UnsafeContinuation<Admission, Never>
    }

    /// The lanes of the transactions that run.
    private var running: [Lane] = []
    /// `nil` for one that a group has taken from the middle.
    private var waiting = Queue<Follower?>()
    /// The number of changes that wait.
    private(set) var waitingCount = 0
    private let shard: Shard
    private let timeout: Duration
    private lazy var timer = DeadlineTimer(on: shard) { [unowned self] in startLate() }

    /// Creates a queue.
    ///
    /// - Parameter timeout: the time after which the first change starts although as many transactions run as may: they may wait for a lock.
    init(on shard: Shard, timeout: Duration) {
        self.shard = shard
        self.timeout = timeout
    }

    /// Waits until the change may run, or has run.
    func enter(_ entry: Entry) async -> Admission {
        guard !mayRun(entry.lane) else {
            running.append(entry.lane)
            return .alone
        }
        return await withUnsafeContinuation { continuation in
            waiting.append(Follower(entry: entry, continuation: continuation))
            waitingCount += 1
            if !timer.isSet { timer.set(after: timeout) }
        }
    }

    /// Ends a transaction of a lane.
    func leave(_ lane: Lane) {
        if let index = running.firstIndex(of: lane) { running.remove(at: index) }
        while start(next(where: { mayRun($0.lane) })) {}
        if waitingCount == 0 { timer.cancel() }
    }

    /// Whether another transaction of a lane may run. Changes of different lanes cannot share one, so none gains by its wait for another.
    private func mayRun(_ lane: Lane) -> Bool {
        running.count < Self.mostRunning && running.count(where: { $0 == lane }) < Self.concurrency
    }

    /// Gives a change of a group its outcome; without one it runs alone.
    func resume(_ follower: Follower, with outcome: Outcome?) {
        guard let outcome else {
            running.append(follower.entry.lane)
            return follower.continuation.resume(returning: .alone)
        }
        follower.continuation.resume(returning: .done(outcome))
    }

    private func startLate() {
        if start(next(where: { _ in true })), waitingCount > 0 { timer.set(after: timeout) }
    }

    /// Starts a change that has waited, with those that may share its transaction. Returns `false` for none.
    private func start(_ first: Follower?) -> Bool {
        guard let first else { return false }
        running.append(first.entry.lane)
        let followers = takeFollowers(of: first.entry)
        first.continuation.resume(returning: followers.isEmpty ? .alone : .leads(followers))
        return true
    }

    /// Takes the first change that waits and meets a condition.
    private func next(where isNext: (Entry) -> Bool) -> Follower? {
        while case .some(nil) = waiting.first { _ = waiting.popFirst() }
        for index in waiting.indices.prefix(Self.mostCandidates) {
            guard let follower = waiting[index], isNext(follower.entry) else { continue }
            waiting[index] = nil
            waitingCount -= 1
            return follower
        }
        return nil
    }

    private func takeFollowers(of first: Entry) -> [Follower] {
        var followers: [Follower] = []
        var bytes = first.bytes
        for index in waiting.indices.prefix(Self.mostCandidates) {
            guard followers.count + 1 < Self.mostChanges else { break }
            guard let follower = waiting[index] else { continue }
            let entry = follower.entry
            guard entry.lane == first.lane, entry.bytes <= Self.mostBytes - bytes,
                entry.conversation != first.conversation,
                !followers.contains(where: { $0.entry.conversation == entry.conversation })
            else { continue }
            bytes += entry.bytes
            followers.append(follower)
            waiting[index] = nil
            waitingCount -= 1
        }
        return followers
    }
}
