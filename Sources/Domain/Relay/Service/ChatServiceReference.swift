import ChatterdBasics

/// A chat service that any thread may hold. It is used on its own shard only.
struct ChatServiceReference: Sendable {
    /// The scheduler of the service's shard. It identifies the service.
    let scheduler: Scheduler
    private let service: Confined<ChatService>

    init(_ service: ChatService) {
        scheduler = service.scheduler
        self.service = Confined(service, to: service.scheduler)
    }

    /// Runs a block on the shard of the service, soon. From any thread.
    func run(_ block: @escaping @Sendable (ChatService) -> Void) {
        scheduler.run { [service] in block(service.value) }
    }
}
