import ChatterdBasics

/// Which shard of this process makes a reply.
public final class ReplyDirectory: Sendable {
    private let services = Lock<[ReplyID: ChatService]>([:])

    /// Makes an empty directory.
    public init() {}

    /// The service that makes a reply, if it is one of this process.
    subscript(_ id: ReplyID) -> ChatService? {
        get { services.withLock { $0[id] } }
    }

    /// Notes that a service makes a reply.
    func enter(_ id: ReplyID, _ service: ChatService) {
        services.withLock { $0[id] = service }
    }

    /// Removes the entry of a reply if it names this service.
    func remove(_ id: ReplyID, _ service: ChatService) {
        services.withLock { services in
            if services[id] === service { services[id] = nil }
        }
    }
}
