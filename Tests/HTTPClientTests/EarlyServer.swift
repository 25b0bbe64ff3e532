import ChatterdTestSupport

/// Answers a connection after its first bytes and closes it, with the rest of the request unread. It accepts one connection.
final class EarlyServer: Sendable {
    private let listener: BoundPort
    private let stopped = Gate()

    /// With `next`, it reads this number of bytes of the next request before it closes.
    init(answer: String, next: Int = 0) throws {
        listener = try BoundPort.silent()
        startThread { [listener, stopped] in
            guard let client = listener.accept(unless: stopped) else { return }
            _ = client.receive(atMost: 1024)
            client.send(answer)
            if next > 0 {
                _ = client.receive(atMost: next)
            }
            client.close()
        }
    }

    deinit {
        stopped.open()
    }

    var port: Int { listener.port }
    var url: String { listener.url }
}
