import ChatterdRelay

/// The queues that several processes share, as the database has them.
final class MemorySlots: @unchecked Sendable {
    struct Row {
        var appID: String
        var holder: Int
        var rank: Int
        var place: Int
        var isGranted = false
    }

    var rows: [SlotKey: Row] = [:]
    /// The processes whose lease has run out.
    var dead: Set<Int> = []
    /// The replies whose conversations are gone.
    var gone: Set<ReplyID> = []
    var hold: Duration?
    private var ranks: [String: [String: Int]] = [:]
    private var reached: [String: Int] = [:]
    private var given: [String: Int] = [:]
    private var places = 0

    func enter(_ ticket: SlotTicket, holder: Int) {
        let upstream = ticket.upstream
        if let row = rows[ticket.key] {
            rows[ticket.key]?.isGranted = row.isGranted && row.holder == holder
            rows[ticket.key]?.holder = holder
            return
        }
        let reached = reached[upstream, default: 0]
        let rank = ranks[upstream]?[ticket.appID].map { max($0 + 1, reached) } ?? reached
        ranks[upstream, default: [:]][ticket.appID] = rank
        places += 1
        rows[ticket.key] = Row(appID: ticket.appID, holder: holder, rank: rank, place: places)
    }

    func leave(_ key: SlotKey, holder: Int) {
        guard let gone = rows[key], gone.holder == holder else { return }
        rows[key] = nil
        guard !gone.isGranted else { return }
        for (other, row) in rows
        where other.upstream == key.upstream && row.appID == gone.appID && !row.isGranted && row.rank > gone.rank {
            rows[other]?.rank -= 1
        }
        ranks[key.upstream]?[gone.appID]? -= 1
    }

    /// Gives free slots away; tells the tickets of one process that have got one.
    func grant(at upstream: String, slots: Int, to process: Int) -> [SlotKey] {
        var granted: [SlotKey] = []
        for key in waiting(at: upstream).prefix(max(0, slots - running(at: upstream))) {
            guard let row = rows[key] else { continue }
            rows[key]?.isGranted = true
            given[upstream, default: 0] += 1
            if row.rank > reached[upstream, default: 0] {
                (reached[upstream], given[upstream]) = (row.rank, 0)
            } else if given[upstream] == 64 {
                (reached[upstream], given[upstream]) = (reached[upstream, default: 0] + 1, 0)
            }
            if row.holder == process {
                granted.append(key)
            }
        }
        return granted
    }

    func running(at upstream: String) -> Int {
        rows.count { $0.key.upstream == upstream && $0.value.isGranted && !dead.contains($0.value.holder) }
    }

    /// Those that wait, the next one first.
    func waiting(at upstream: String) -> [SlotKey] {
        rows.filter { $0.key.upstream == upstream && !$0.value.isGranted && !dead.contains($0.value.holder) }
            .sorted { ($0.value.rank, $0.value.place) < ($1.value.rank, $1.value.place) }.map(\.key)
    }
}

/// What a store of queues is asked for.
enum SlotCall: Hashable {
    case enter, leave, grant, granted, survey, load
}

/// A process's way to `MemorySlots`, which fails as the test wants.
final class MemorySlotStore: SlotStore, @unchecked Sendable {
    let slots: MemorySlots
    let process: Int
    /// What happens to the next calls of a kind: `away` or `lost`, or it takes its time until `release`.
    var faults: [SlotCall: [StoreFault]] = [:]
    /// Whether all calls fail.
    var isAway = false
    private(set) var calls: [SlotCall] = []
    private var hanging: [(SlotCall, CheckedContinuation<Void, Never>)] = []

    init(_ slots: MemorySlots, process: Int) {
        self.slots = slots
        self.process = process
    }

    func count(_ call: SlotCall) -> Int { calls.count { $0 == call } }

    /// Lets a call go on that hangs.
    func release(_ call: SlotCall) {
        guard let index = hanging.firstIndex(where: { $0.0 == call }) else { return }
        hanging.remove(at: index).1.resume()
    }

    func enter(_ ticket: SlotTicket) async throws(RelayError) -> SlotEntry {
        let fault = try await begin(.enter)
        guard !slots.gone.contains(ticket.reply) else { throw RelayError(.conversationReplaced, "gone") }
        slots.enter(ticket, holder: process)
        let granted = slots.grant(at: ticket.upstream, slots: ticket.slots, to: process)
        try end(fault)
        return SlotEntry(place: place(of: ticket.key), granted: granted)
    }

    func leave(_ ticket: SlotTicket) async throws(RelayError) -> [SlotKey] {
        let fault = try await begin(.leave)
        slots.leave(ticket.key, holder: process)
        let granted = slots.grant(at: ticket.upstream, slots: ticket.slots, to: process)
        try end(fault)
        return granted
    }

    func grant(at upstream: String, slots count: Int) async throws(RelayError) -> [SlotKey] {
        let fault = try await begin(.grant)
        let granted = slots.grant(at: upstream, slots: count, to: process)
        try end(fault)
        return granted
    }

    func granted() async throws(RelayError) -> [SlotKey] {
        let found = ownGranted
        _ = try await begin(.granted)
        return found
    }

    func survey(_ upstreams: [String]) async throws(RelayError) -> SlotSurvey {
        _ = try await begin(.survey)
        var survey = SlotSurvey()
        for key in slots.rows.keys where slots.rows[key]?.holder == process {
            survey.places[key] = place(of: key)
        }
        survey.granted = ownGranted
        for upstream in upstreams {
            survey.running[upstream] = slots.running(at: upstream)
        }
        return survey
    }

    func load(of upstream: String) async throws(RelayError) -> SlotLoad {
        _ = try await begin(.load)
        return SlotLoad(
            running: slots.running(at: upstream), waiting: slots.waiting(at: upstream).count, hold: slots.hold)
    }

    private var ownGranted: [SlotKey] {
        slots.rows.filter { $0.value.holder == process && $0.value.isGranted }.map(\.key)
    }

    private func place(of key: SlotKey) -> QueuePlace? {
        let all = slots.waiting(at: key.upstream)
        return all.firstIndex(of: key).map {
            QueuePlace(upstream: key.upstream, position: $0 + 1, length: all.count)
        }
    }

    private func begin(_ call: SlotCall) async throws(RelayError) -> StoreFault? {
        calls.append(call)
        var fault: StoreFault?
        if faults[call]?.isEmpty == false {
            fault = faults[call]?.removeFirst()
        }
        if isAway || fault == .away { throw RelayError(.storeUnavailable, "away") }
        if fault == .hang {
            await withCheckedContinuation { hanging.append((call, $0)) }
        }
        return fault
    }

    private func end(_ fault: StoreFault?) throws(RelayError) {
        if fault == .lost { throw RelayError(.storeUnavailable, "lost") }
    }
}
