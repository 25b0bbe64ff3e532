import Testing

@testable import ChatterdServer

/// When free memory goes back to the system.
@Suite struct TrimScheduleTests {
    private static let mebi = 1 << 20
    private static let limit = 12 << 30

    private func isDue(_ schedule: TrimSchedule, _ mebibytes: Int, isTight: Bool = false) -> Bool {
        schedule.isDue(unreserved: mebibytes * Self.mebi, limit: Self.limit, isTight: isTight)
    }

    @Test func memoryThatStaysIsReturned() {
        let schedule = TrimSchedule()
        #expect([30, 800, 800, 800].map { isDue(schedule, $0) } == [false, false, false, true])
        schedule.trimmed(unreserved: 40 * Self.mebi)
        #expect([40, 100, 104].map { isDue(schedule, $0) } == [false, false, false])
    }

    @Test func memoryThatIsUsedAgainStays() {
        let schedule = TrimSchedule()
        for _ in 0..<10 {
            #expect([30, 800, 800].map { isDue(schedule, $0) } == [false, false, false])
        }
    }

    @Test func memoryInUseIsNotLookedForAgain() {
        let schedule = TrimSchedule()
        #expect([30, 500, 500, 500].map { isDue(schedule, $0) }.last == true)
        // Nothing was free: it is in use.
        schedule.trimmed(unreserved: 500 * Self.mebi)
        for _ in 0..<10 { #expect(!isDue(schedule, 500)) }
        // It is given up later, and what stays then counts again.
        #expect([100, 300, 300, 300].map { isDue(schedule, $0) } == [false, false, false, true])
    }

    @Test func memoryIsReturnedAtOnceWhileItIsShort() {
        let schedule = TrimSchedule()
        #expect(isDue(schedule, 2_000, isTight: true) && !isDue(TrimSchedule(), 1_000, isTight: true))
    }
}
