import ChatterdRelay

/// The queues in the database, which several processes share.
final class MemorySlots: @unchecked Sendable {
    struct Row {
        var owner: String
        var holder: Int
        var rank: Int
        var order: Int
        var isGranted = false
    }

    var rows: [SlotKey: Row] = [:]
    /// The processes whose lease has expired.
    var dead: Set<Int> = []
    /// The replies whose conversations are gone.
    var gone: Set<ReplyID> = []
    var hold: Duration?
    private var ranks: [String: [String: Int]] = [:]
    private var reached: [String: Int] = [:]
    private var given: [String: Int] = [:]
    private var lastOrder = 0

    func enter(_ ticket: SlotTicket, holder: Int) {
        let upstream = ticket.upstream
        if let row = rows[ticket.key] {
            rows[ticket.key]?.isGranted = row.isGranted && row.holder == holder
            rows[ticket.key]?.holder = holder
            return
        }
        let reached = reached[upstream, default: 0]
        let rank = ranks[upstream]?[ticket.owner].map { max($0 + 1, reached) } ?? reached
        ranks[upstream, default: [:]][ticket.owner] = rank
        lastOrder += 1
        rows[ticket.key] = Row(owner: ticket.owner, holder: holder, rank: rank, order: lastOrder)
    }

    func leave(_ key: SlotKey, holder: Int) {
        guard let gone = rows[key], gone.holder == holder else { return }
        rows[key] = nil
        guard !gone.isGranted else { return }
        for (other, row) in rows
        where other.upstream == key.upstream && row.owner == gone.owner && !row.isGranted && row.rank > gone.rank {
            rows[other]?.rank -= 1
        }
        ranks[key.upstream]?[gone.owner]? -= 1
    }

    /// Grants the free slots. Returns the tickets of one process that got slots.
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

    /// The waiting tickets, the next one first.
    func waiting(at upstream: String) -> [SlotKey] {
        rows.filter { $0.key.upstream == upstream && !$0.value.isGranted && !dead.contains($0.value.holder) }
            .sorted { ($0.value.rank, $0.value.order) < ($1.value.rank, $1.value.order) }.map(\.key)
    }
}

/// The calls of a store of queues.
enum SlotCall: Hashable {
    case enter, leave, grant, granted, survey, load
}

/// The store of one process over `MemorySlots`, with faults that the test sets.
final class MemorySlotStore: SlotStore, @unchecked Sendable {
    let slots: MemorySlots
    let process: Int
    /// The faults of the next calls of each kind: `unavailable`, `lost` or `hang`.
    var faults: [SlotCall: [StoreFault]] = [:]
    /// Whether all calls fail.
    var isUnavailable = false
    private(set) var calls: [SlotCall] = []
    private var hanging: [(SlotCall, CheckedContinuation<Void, Never>)] = []

    init(_ slots: MemorySlots, process: Int) {
        self.slots = slots
        self.process = process
    }

    func count(_ call: SlotCall) -> Int { calls.count { $0 == call } }

    /// Continues a call that hangs.
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
        return SlotEntry(position: position(of: ticket.key), granted: granted)
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

    func survey(_ upstreams: [String]) async throws(RelayError) -> SlotSnapshot {
        _ = try await begin(.survey)
        var survey = SlotSnapshot()
        for key in slots.rows.keys where slots.rows[key]?.holder == process {
            survey.positions[key] = position(of: key)
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

    private func position(of key: SlotKey) -> QueuePosition? {
        let all = slots.waiting(at: key.upstream)
        return all.firstIndex(of: key).map {
            QueuePosition(upstream: key.upstream, position: $0 + 1, length: all.count)
        }
    }

    private func begin(_ call: SlotCall) async throws(RelayError) -> StoreFault? {
        calls.append(call)
        var fault: StoreFault?
        if faults[call]?.isEmpty == false {
            fault = faults[call]?.removeFirst()
        }
        if isUnavailable || fault == .unavailable { throw RelayError(.storeUnavailable, "away") }
        if fault == .hang {
            await withCheckedContinuation { hanging.append((call, $0)) }
        }
        return fault
    }

    private func end(_ fault: StoreFault?) throws(RelayError) {
        if fault == .lost { throw RelayError(.storeUnavailable, "lost") }
    }
}
