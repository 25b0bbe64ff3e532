import Synchronization

/// Whether the server accepts prompts, for `/readyz`. Safe on any thread.
final class ServerState: Sendable {
    private let draining = Atomic<Bool>(false)

    /// Whether the server is stopping.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    func drain() {
        draining.store(true, ordering: .relaxed)
    }
}
