import CChatterdSystem
import ChatterdBasics
import ChatterdConfiguration

extension MemoryBudget {
    /// The budget of this process.
    ///
    /// - Parameter limit: the configured budget in bytes; `nil` for half of the available memory.
    convenience init(ofProcess limit: Int?) {
        self.init(limit: limit ?? SystemMemory.current.budget) { Int(csystem_resident_bytes()) }
    }

    /// Returns the allocator's free memory to the system if much of the resident memory has no reservation.
    func trimAllocator() {
        if update() > limit / 8, isTight {
            csystem_trim_allocator()
            update()
        }
    }
}
