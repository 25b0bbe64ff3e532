import CChatterdSystem
import ChatterdBasics
import ChatterdConfiguration
import ChatterdSockets

extension MemoryBudget {
    /// The budget of this process.
    ///
    /// - Parameter limit: the configured budget in bytes; `nil` for half of the available memory.
    convenience init(ofProcess limit: Int?) {
        self.init(limit: limit ?? SystemMemory.current.budget) { Int(csystem_resident_bytes()) }
    }

    /// Returns the allocator's free memory to the system if a schedule says so. It takes a tenth of a second for a gigabyte, outside of
    /// the event loops.
    func trimAllocator(_ schedule: TrimSchedule) async {
        guard schedule.isDue(unreserved: update(), limit: limit, isTight: isTight) else { return }
        await LongWork.run(on: LongWork.unknownSize) { csystem_trim_allocator() }
        schedule.trimmed(unreserved: update())
    }
}

/// When free memory of the allocator is returned to the system: memory without a reservation is either free or small.
///
/// At once if much of the budget is in use. Otherwise when more of it than after the last time has stayed for some rounds: answers and
/// bodies that come one after the other use it again. Confined to a shard.
final class TrimSchedule {
    /// The memory that may stay, in bytes.
    static let step = 64 << 20
    /// The rounds of the housekeeper for which more stays.
    static let rounds = 3

    /// The least memory without a reservation since the last time: what is in use, in bytes. `nil` before the first round.
    private var floor: Int?
    private var waited = 0

    /// Whether memory is to be returned in this round.
    func isDue(unreserved: Int, limit: Int, isTight: Bool) -> Bool {
        let floor = min(floor ?? 0, unreserved)
        self.floor = floor
        waited = unreserved > floor + Self.step ? waited + 1 : 0
        return waited >= Self.rounds || isTight && unreserved > limit / 8
    }

    /// Records that memory was returned.
    func trimmed(unreserved: Int) {
        (floor, waited) = (unreserved, 0)
    }
}
