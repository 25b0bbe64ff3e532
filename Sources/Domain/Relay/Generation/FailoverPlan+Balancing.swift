import ChatterdChat
import ChatterdIdentity

extension [FailoverPlan.Candidate] {
    /// Sets the loads of the servers, and the affinities of a conversation to them.
    ///
    /// - Parameter targets: the same servers; `nil` for a removed one.
    mutating func balance(_ targets: [ModelTarget?], for conversation: ConversationKey) {
        let affinity = ServerAffinity(of: conversation)
        let running = targets.map { $0?.upstream.health.running ?? 0 }
        for (number, target) in targets.enumerated() {
            guard let description = target?.upstream.description else { continue }
            self[number].affinity = affinity.weight(of: description.name)
            if let slots = description.slots, running[number] >= slots {
                self[number].load = .full
            } else {
                var (total, count) = (0, 0)
                for other in indices where isEqual(self[other], self[number]) {
                    total += running[other]
                    count += 1
                }
                let share = ServerLoad.share(of: total, among: count)
                self[number].load = running[number] < share ? .free : .aboveShare
            }
        }
    }

    /// Whether two servers may be asked instead of each other.
    private func isEqual(_ one: FailoverPlan.Candidate, _ other: FailoverPlan.Candidate) -> Bool {
        one.priority == other.priority && one.isCoolingDown == other.isCoolingDown && one.isRemoved == other.isRemoved
    }
}
