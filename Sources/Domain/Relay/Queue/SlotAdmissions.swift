import ChatterdBasics
import ChatterdChat

/// The admitted prompts whose tickets are not in the queue yet. From any thread.
final class SlotAdmissions: Sendable {
    /// The time for which an admitted prompt counts.
    private static let lifetime = Duration.seconds(2)

    /// The times up to which admitted prompts count, for each model server.
    private let admitted = Lock<[String: [Instant]]>([:])

    /// Admits a prompt unless the queue is full.
    ///
    /// - Returns: whether the prompt is admitted.
    func admit(at upstream: UpstreamDescription, slots: Int, load: SlotLoad, now: Instant) -> Bool {
        admitted.withLock { admitted in
            var pending = admitted[upstream.name, default: []]
            pending.removeAll { $0 <= now }
            let hasRoom = load.running + load.waiting + pending.count < slots + upstream.queueLimit
            if hasRoom {
                pending.append(now + Self.lifetime)
            }
            admitted[upstream.name] = pending.isEmpty ? nil : pending
            return hasRoom
        }
    }

    /// Removes the oldest admission of a model server.
    func remove(at upstream: String) {
        admitted.withLock { admitted in
            guard admitted[upstream] != nil else { return }
            admitted[upstream]?.removeFirst()
            if admitted[upstream]?.isEmpty == true {
                admitted[upstream] = nil
            }
        }
    }
}
