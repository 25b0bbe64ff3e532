import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets
import Glibc

/// The connections of one shard, and what they share. Confined to its shard.
final class ConnectionGroup: @unchecked Sendable {
    let shard: Shard
    let limits: Limits
    let timing: Timing
    let router: Router
    let policy: BrowserPolicy
    let environment: Environment

    /// The budget for request bodies and unsent output.
    let memory: MemoryBudget
    var ids: RequestID

    private let place: Int
    private let census: Census
    private var connections: [Connection] = []
    private var isShuttingDown = false
    private var shutdownTimer: DeadlineTimer?
    private var date = HTTPDate()

    init(shard: Shard, place: Int, server: Server.Parts, census: Census) {
        self.shard = shard
        self.place = place
        self.census = census
        limits = server.limits
        timing = server.timing
        router = server.router
        policy = server.policy
        environment = server.environment
        memory = server.memory
        ids = RequestID(seed: server.environment.seed())
    }

    /// Takes over a connection that the listener accepted and the census counted.
    func adopt(_ descriptor: Int32, peer: SocketAddress, from port: ListeningPort) {
        guard !isShuttingDown else {
            close(descriptor)
            forget(port)
            return
        }
        let connection = Connection(group: self, port: port)
        do {
            try connection.start(descriptor, peer: peer)
            connection.place = connections.count
            connections.append(connection)
        } catch {
            // The stream has closed the descriptor: the shard can watch no more, and the client sees a closed connection.
            forget(port)
        }
    }

    /// A connection has ended.
    func remove(_ connection: Connection) {
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.place] = last
            last.place = connection.place
        }
        forget(connection.port)
    }

    private func forget(_ port: ListeningPort) {
        census.leave(place)
        port.releaseSlot()
    }

    /// Lets each connection end with the request that it is at.
    func beginShutdown() {
        isShuttingDown = true
        for connection in connections {
            connection.shutdownBegan()
        }
    }

    /// Calls `action` when the connections have had their time; the timer lives here, as it may end on its shard only.
    func setShutdownTimer(after grace: Duration, action: @escaping () -> Void) {
        let timer = DeadlineTimer(on: shard, handler: action)
        timer.set(after: grace)
        shutdownTimer = timer
    }

    func cancelShutdownTimer() {
        shutdownTimer = nil
    }

    /// Cuts off all connections.
    func abortAll() {
        isShuttingDown = true
        for connection in connections {
            connection.cutOff(.aborted)
        }
    }

    /// Appends the Date field, RFC 9110 6.6.1.
    func appendDate(to buffer: inout ByteBuffer) {
        buffer.append("date: ")
        date.append(environment.wallClock(), to: &buffer)
        buffer.append("\r\n")
    }
}
