import ChatterdBasics
import ChatterdHTTP
import ChatterdSockets
import Glibc

/// The connections of one shard, and their common state. Confined to its shard.
final class ConnectionGroup {
    let shard: Shard
    let limits: Limits
    let timing: Timing
    let router: Router
    let policy: BrowserPolicy
    let hooks: ServerHooks

    /// The budget for request bodies and unsent output.
    let memory: MemoryBudget
    var ids: RequestID

    /// The index of the shard.
    private let index: Int
    private let load: ShardLoad
    private var connections = IndexedSet<Connection>()
    private var isShuttingDown = false
    private var shutdownTimer: DeadlineTimer?
    private var date = HTTPDate()

    init(shard: Shard, index: Int, server: Server.Parts, load: ShardLoad) {
        self.shard = shard
        self.index = index
        self.load = load
        limits = server.limits
        timing = server.timing
        router = server.router
        policy = server.policy
        hooks = server.hooks
        memory = server.memory
        ids = RequestID(seed: server.hooks.seed())
    }

    /// Adopts a connection that the listener accepted and `ShardLoad` counted.
    func adopt(_ descriptor: Int32, peer: SocketAddress, from port: ListeningPort) {
        guard !isShuttingDown else {
            close(descriptor)
            release(port)
            return
        }
        let connection = Connection(group: self, port: port)
        do {
            try connection.start(descriptor, peer: peer)
            connections.insert(connection)
        } catch {
            // The shard can watch no more descriptors. The stream has closed this one, and the client sees a closed connection.
            release(port)
        }
    }

    /// Removes a connection that has ended.
    func remove(_ connection: Connection) {
        connections.remove(connection)
        release(connection.port)
    }

    /// Counts the end of a connection.
    private func release(_ port: ListeningPort) {
        load.release(index)
        port.releaseSlot()
    }

    /// Ends each connection after its current request, or cuts it off after `grace`.
    func beginShutdown(within grace: Duration) {
        isShuttingDown = true
        for connection in connections.elements {
            connection.beginShutdown()
        }
        let timer = DeadlineTimer(on: shard) { [unowned self] in abortAll() }
        timer.set(after: grace)
        shutdownTimer = timer
    }

    /// Ends the grace of `beginShutdown`: all connections have ended.
    func cancelShutdownTimer() {
        shutdownTimer = nil
    }

    /// Cuts off all connections.
    func abortAll() {
        isShuttingDown = true
        for connection in connections.elements {
            connection.cutOff(.aborted)
        }
    }

    /// Appends the Date field, RFC 9110 6.6.1.
    func appendDate(to buffer: inout ByteBuffer) {
        buffer.append("date: ")
        date.append(hooks.wallClock(), to: &buffer)
        buffer.append("\r\n")
    }
}
