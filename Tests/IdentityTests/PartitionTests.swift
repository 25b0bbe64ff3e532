import ChatterdIdentity
import Testing

@Suite struct PartitionTests {
    /// The numbers are part of stored ids, so they never change.
    @Test func numberIsStable() {
        #expect(Partition(of: Owner(app: "app")).number == 48)
        #expect(Partition(of: Owner(app: "app", person: "ada")).number == 121)
        #expect(Partition(of: Owner(app: "edu.umich.chatter")).number == 72)
    }

    @Test func ownersSpreadOverAllPartitions() {
        var counts = [Int](repeating: 0, count: 256)
        for number in 0..<25_600 {
            counts[Int(Partition(of: Owner(app: "app", person: "\(number)")).number)] += 1
        }
        // 100 owners a partition on average; ten standard deviations are 100.
        #expect(counts.allSatisfy { 20...200 ~= $0 })
    }
}
