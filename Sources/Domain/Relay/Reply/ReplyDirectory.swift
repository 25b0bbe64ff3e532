import ChatterdBasics

/// The replies of this process, with the services of the shards that generate them.
public final class ReplyDirectory: Sendable {
    private let services = Lock<[ReplyID: ChatServiceReference]>([:])

    /// Creates an empty directory.
    public init() {}

    /// The service that generates a reply; `nil` if no shard of this process does.
    subscript(_ id: ReplyID) -> ChatServiceReference? {
        services.withLock { $0[id] }
    }

    /// Records that a service generates a reply.
    func enter(_ id: ReplyID, _ service: ChatServiceReference) {
        services.withLock { $0[id] = service }
    }

    /// Removes the entry of a reply if it names this service.
    func remove(_ id: ReplyID, _ service: ChatServiceReference) {
        services.withLock { services in
            if services[id]?.scheduler === service.scheduler { services[id] = nil }
        }
    }
}
