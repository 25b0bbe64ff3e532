import ChatterdBasics
import ChatterdRelay
import Testing

@testable import ChatterdServer

@Suite(.timeLimit(.minutes(30))) struct AppSharesTests {
    private let budget = MemoryBudget(limit: 64 << 20)

    @Test func appHasHalfOfTheRequestsAndThreeQuartersWithDeletions() throws {
        let shares = AppShares(connections: 8, memory: budget)
        var entries = try (0..<4).map { _ in try shares.begin(for: "a", isDeletion: false) }
        #expect(throws: RelayError.self) { try shares.begin(for: "a", isDeletion: false) }
        entries += try (0..<2).map { _ in try shares.begin(for: "a", isDeletion: true) }
        #expect(throws: RelayError.self) { try shares.begin(for: "a", isDeletion: true) }
        _ = try shares.begin(for: "b", isDeletion: false)
        entries.removeLast(3)
        entries.append(try shares.begin(for: "a", isDeletion: false))
        #expect(throws: RelayError.self) { try shares.begin(for: "a", isDeletion: false) }
    }

    @Test func requestsOfAnAppShareItsMemory() throws {
        let shares = AppShares(connections: 8, memory: budget)
        let (first, second) = (
            try shares.begin(for: "a", isDeletion: false), try shares.begin(for: "a", isDeletion: false)
        )
        #expect(first.memory === second.memory)
        #expect(try shares.begin(for: "b", isDeletion: false).memory !== first.memory)
    }

    /// Any number of other apps comes and goes meanwhile.
    @Test func memoryOfAnAppOutlivesItsRequests() throws {
        let shares = AppShares(connections: 8, memory: budget)
        let background = budget.charge(1, account: try shares.begin(for: "a", isDeletion: false).memory)
        for number in 0..<1_000 { _ = try shares.begin(for: "app \(number)", isDeletion: false) }
        let again = try shares.begin(for: "a", isDeletion: false)
        #expect(again.memory.reservedBytes == background.count)
    }

    /// A body asks for the memory of its app before it reserves some.
    @Test func memoryWithoutAReservationIsKeptAsLongAsItIsRetained() throws {
        let shares = AppShares(connections: 8, memory: budget)
        let memory = shares.memory(of: "a")
        for number in 0..<1_000 { _ = shares.memory(of: "app \(number)") }
        #expect(try shares.begin(for: "a", isDeletion: false).memory === memory)
    }

    @Test func memoryOfAnAppThatUsesNothingIsRemoved() throws {
        let shares = AppShares(connections: 8, memory: budget)
        weak let first = shares.memory(of: "a")
        #expect(first != nil)
        for number in 0..<1_000 { _ = try shares.begin(for: "app \(number)", isDeletion: false) }
        #expect(first == nil)
    }
}
