import ChatterdBasics
import Testing

/// The arithmetic of the memory budget.
@Suite(.timeLimit(.minutes(30))) struct MemoryBudgetTests {
    private static let mebi = 1 << 20

    /// The memory that the system would measure; set by the test.
    private final class Process: Sendable {
        private let resident = Lock(0)
        var bytes: Int {
            get { resident.withLock { $0 } }
            set { resident.withLock { $0 = newValue } }
        }
    }

    @Test func releasedReservationReturnsItsMemory() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        var first = budget.reserve(10 * Self.mebi, for: .output)
        let second = try #require(budget.reserve(20 * Self.mebi, for: .output))
        #expect(budget.reservedBytes == 30 * Self.mebi)
        #expect(first != nil)
        first = nil
        #expect(budget.reservedBytes == 20 * Self.mebi)
        second.shrink(to: 5 * Self.mebi)
        #expect(budget.reservedBytes == 5 * Self.mebi && second.count == 5 * Self.mebi)
        #expect(second.grow(to: 64 * Self.mebi, for: .output))
        #expect(!second.grow(to: 65 * Self.mebi, for: .output))
        #expect(budget.reservedBytes == 64 * Self.mebi && second.count == 64 * Self.mebi)
    }

    @Test(arguments: [(MemoryUse.body, 32), (.history, 48), (.result, 56), (.output, 64)])
    func eachUseHasItsShare(use: MemoryUse, share: Int) throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let held = try #require(budget.reserve(share * Self.mebi, for: use))
        #expect(budget.reserve(Self.mebi, for: use) == nil)
        #expect(held.count == share * Self.mebi)
    }

    @Test func smallReservationMayExceedTheShare() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let held = try #require(budget.reserve(32 * Self.mebi, for: .body))
        #expect(budget.reserve(64 * 1024, for: .body) == nil)
        let small = try #require(budget.reserve(4 * 1024, for: .body))
        #expect(budget.reservedBytes == held.count + small.count)
    }

    /// A body that arrives in small pieces counts as a large one.
    @Test func reservationThatGrowsInSmallStepsKeepsToItsShare() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let body = try #require(budget.reserve(1_024, for: .body))
        var count = body.count
        while body.grow(to: count + 16 * 1_024, for: .body) {
            count = body.count
        }
        #expect(count > 31 * Self.mebi && count <= 32 * Self.mebi)
    }

    @Test func slowReadersLeaveRoomForBodies() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        var outputs: [MemoryReservation] = []
        while !budget.isTightForOutput {
            outputs.append(try #require(budget.reserve(Self.mebi, for: .output)))
        }
        #expect(budget.reserve(15 * Self.mebi, for: .body) != nil)
    }

    @Test func memoryOfTheProcessAtItsStartCounts() {
        let budget = MemoryBudget(limit: 64 * Self.mebi) { 40 * Self.mebi }
        #expect(budget.usedBytes == 40 * Self.mebi && budget.isTight)
        #expect(budget.reserve(25 * Self.mebi, for: .output) == nil)
        #expect(budget.reserve(24 * Self.mebi, for: .output) != nil)
    }

    @Test func unreservedMemoryCountsOnceItIsMeasured() {
        let process = Process()
        let budget = MemoryBudget(limit: 64 * Self.mebi) { process.bytes }
        process.bytes = 60 * Self.mebi
        #expect(budget.update() == 60 * Self.mebi)
        #expect(budget.reserve(10 * Self.mebi, for: .output) == nil)
        // The budget measures again before a refusal.
        process.bytes = 20 * Self.mebi
        #expect(budget.reserve(10 * Self.mebi, for: .output) != nil)
    }

    @Test func untouchedReservationCounts() throws {
        let process = Process()
        let budget = MemoryBudget(limit: 64 * Self.mebi) { process.bytes }
        let held = try #require(budget.reserve(60 * Self.mebi, for: .output))
        budget.update()
        #expect(budget.reserve(10 * Self.mebi, for: .output) == nil)
        #expect(held.count == 60 * Self.mebi)
    }

    @Test func chargeIsNeverRefused() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let charge = budget.charge(100 * Self.mebi)
        #expect(budget.reserve(1, for: .output) == nil)
        charge.charge(to: 110 * Self.mebi)
        #expect(budget.reservedBytes == 110 * Self.mebi)
        charge.shrink(to: 0)
        #expect(budget.reserve(1, for: .output) != nil)
    }

    @Test func refusalNamesTheLimit() {
        #expect(MemoryBudget(limit: 256 * Self.mebi).refusal.contains("CHATTERD_MEMORY, 256 MiB"))
    }

    /// The limits of an account are 24 MiB for bodies, and 32.
    @Test(arguments: [(MemoryUse.body, 24), (.history, 32), (.result, 32)])
    func accountHasItsPartOfTheBudget(use: MemoryUse, part: Int) throws {
        let budget = MemoryBudget(limit: 96 * Self.mebi)
        let (account, other) = (MemoryAccount(in: budget), MemoryAccount(in: budget))
        try MemoryAccount.$current.withValue(account) {
            let all = part * Self.mebi
            let second = budget.charge(8 * Self.mebi)
            let first = try #require(budget.reserve(all - 12 * Self.mebi, for: use))
            #expect(account.reservedBytes == all - 4 * Self.mebi && budget.reserve(5 * Self.mebi, for: use) == nil)
            #expect(!first.grow(to: all - 7 * Self.mebi, for: use) && first.grow(to: all - 8 * Self.mebi, for: use))
            #expect(account.reservedBytes == all && budget.reserve(33 * 1_024, for: use) == nil)
            // Small ones and output are not refused.
            #expect(budget.reserve(32 * 1_024, for: use) != nil && budget.reserve(Self.mebi, for: .output) != nil)
            let others = try #require(budget.reserve(Self.mebi, for: .output, account: other))
            #expect(other.reservedBytes == others.count)
            #expect(account.reservedBytes == all)
            second.charge(to: 9 * Self.mebi)
            #expect(account.reservedBytes == all + Self.mebi)
            second.shrink(to: Self.mebi)
            #expect(account.reservedBytes == all - 7 * Self.mebi)
            #expect(budget.reservedBytes == account.reservedBytes + others.count)
        }
        #expect(account.reservedBytes == 0 && other.reservedBytes == 0 && budget.reservedBytes == 0)
    }

    /// Bodies have half of the budget, and those of an account with less than 4 MiB five eighths.
    @Test func bodiesOfAnAccountWithLittleHaveMoreRoom() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let account = MemoryAccount(in: budget)
        let others = budget.charge(34 * Self.mebi)
        #expect(budget.reserve(Self.mebi, for: .body) == nil)
        #expect(budget.reserve(5 * Self.mebi, for: .body, account: account) == nil)
        let body = try #require(budget.reserve(3 * Self.mebi, for: .body, account: account))
        #expect(!body.grow(to: 5 * Self.mebi, for: .body) && body.grow(to: 4 * Self.mebi, for: .body))
        let more = budget.charge(2 * Self.mebi)
        #expect(budget.reserve(Self.mebi, for: .body, account: MemoryAccount(in: budget)) == nil)
        #expect(budget.reservedBytes == others.count + body.count + more.count)
    }

    @Test func onlyReservationOfAnAccountMayUseTheShare() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let account = MemoryAccount(in: budget)
        let only = try #require(budget.reserve(20 * Self.mebi, for: .body, account: account))
        #expect(only.grow(to: 40 * Self.mebi, for: .history) && !only.grow(to: 50 * Self.mebi, for: .history))
        #expect(budget.reserve(Self.mebi, for: .history, account: account) == nil)
        let moved = try #require(only.moved(to: MemoryAccount(in: budget), for: .body))
        #expect(account.reservedBytes == 0 && moved.moved(to: nil, for: .body)?.count == 40 * Self.mebi)
    }

    @Test func refusalOfTheBudgetLeavesTheAccountAsItWas() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let account = MemoryAccount(in: budget)
        let others = budget.charge(60 * Self.mebi)
        #expect(budget.reserve(8 * Self.mebi, for: .body, account: account) == nil)
        #expect(account.reservedBytes == 0)
        let own = try #require(budget.reserve(Self.mebi, for: .output, account: account))
        #expect(!own.grow(to: 8 * Self.mebi, for: .output))
        #expect(account.reservedBytes == Self.mebi && budget.reservedBytes == others.count + own.count)
    }

    @Test func reservationMovesToAnAccountWithRoom() throws {
        let budget = MemoryBudget(limit: 64 * Self.mebi)
        let (account, next) = (MemoryAccount(in: budget), MemoryAccount(in: budget))
        let body = try #require(budget.reserve(10 * Self.mebi, for: .body))
        do {
            let moved = try #require(body.moved(to: account, for: .body))
            #expect(moved.count == 10 * Self.mebi && body.count == 0 && budget.reservedBytes == 10 * Self.mebi)
            #expect(moved.moved(to: account, for: .body) === moved && account.reservedBytes == 10 * Self.mebi)
            let large = try #require(budget.reserve(10 * Self.mebi, for: .output))
            #expect(large.moved(to: account, for: .body) == nil && large.count == 10 * Self.mebi)
            let again = try #require(moved.moved(to: next, for: .body))
            #expect(account.reservedBytes == 0 && next.reservedBytes == again.count)
        }
        #expect(next.reservedBytes == 0 && budget.reservedBytes == 0)
    }
}
