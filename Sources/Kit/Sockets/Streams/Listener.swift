import CChatterdSystem
import ChatterdBasics
import Glibc

/// A listening socket on a shard. It acquires a slot before it accepts a connection.
///
/// If all slots are in use, connections wait in the system's queue; the system refuses them when that is full. If the process has no
/// descriptors left, accepting pauses for a back-off of up to 6.4 s.
///
/// The class is `@unchecked Sendable` because `start`, `releaseSlot` and `close` may be called on any thread; they move to the shard.
public final class Listener: ReadinessHandler, @unchecked Sendable {
    private static let backlog: Int32 = 4096

    /// The bound address, with the port that the system chose.
    public let address: SocketAddress

    private let shard: Shard
    /// Owns the accepted descriptors; `nil` before `start`.
    private var accepted: (@Sendable (Int32, SocketAddress) -> Void)?
    private var descriptor: Int32
    private var registration: Registration?
    private var freeSlots: Int
    private var isReadable = false
    private var backoff = Backoff(first: .milliseconds(100), longest: .milliseconds(6400))
    private var pauseTimer: DeadlineTimer?

    /// Binds and listens. The listener accepts no connection before `start`.
    ///
    /// - Parameter slots: the maximum number of connections at one time.
    /// - Throws: `addressInUse`, `system`.
    public init(binding target: SocketAddress, on shard: Shard, slots: Int) throws(SocketError) {
        let descriptor = csystem_tcp_socket(target.family)
        guard descriptor >= 0 else { throw SocketError(errno: Int(descriptor), "socket") }
        _ = csystem_set_reuse(descriptor, 0)
        let status = target.withSockaddr { bind(descriptor, $0, $1) }
        guard status == 0, listen(descriptor, Self.backlog) == 0, let bound = SocketAddress.bound(descriptor) else {
            let error = SocketError(errno: -Int(errno), "listen on \(target)")
            Glibc.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        self.shard = shard
        address = bound
        freeSlots = slots
    }

    deinit {
        // A started listener is retained by its shard until `close`.
        stopListening()
    }

    /// Begins to accept. Blocks a caller on another thread until the shard watches the socket.
    ///
    /// - Parameter accepted: gets each descriptor, which the callee then owns, and the peer. Called on the shard.
    /// - Throws: `system` if the shard can watch no more descriptors.
    public func start(accepted: @escaping @Sendable (Int32, SocketAddress) -> Void) throws(SocketError) {
        let result: Result<Void, SocketError> = shard.callAndWait { [self] in
            self.accepted = accepted
            do throws(SocketError) {
                registration = try shard.register(descriptor, handler: self)
                pauseTimer = DeadlineTimer(on: shard) { [unowned self] in accept() }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Releases the slot of a connection that has ended. Safe on any thread.
    public func releaseSlot() {
        shard.run { [self] in
            freeSlots += 1
            if isReadable {
                accept()
            }
        }
    }

    /// Stops listening: the system refuses connections from the return on. Accepted connections stay open.
    public func close() async {
        await withCheckedContinuation { continuation in
            shard.run { [self] in
                if let registration {
                    shard.unregister(registration)
                }
                registration = nil
                pauseTimer?.cancel()
                stopListening()
                continuation.resume()
            }
        }
    }

    /// A child process that is just being started still has a copy of the descriptor, and the socket would listen as long as any copy
    /// is open.
    private func stopListening() {
        guard descriptor >= 0 else { return }
        Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Accepts the connections that wait. Called by the shard.
    public func becameReady(_ readiness: Readiness) {
        isReadable = true
        accept()
    }

    private func accept() {
        while isReadable, freeSlots > 0, descriptor >= 0 {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let client = csystem_accept(descriptor, &storage, &length)
            switch client {
            case 0...:
                freeSlots -= 1
                backoff.reset()
                accepted?(client, SocketAddress(storage, length: length))
            case -EAGAIN:
                isReadable = false
            case -EMFILE, -ENFILE, -ENOBUFS, -ENOMEM:
                pauseTimer?.set(after: backoff.next())
                return
            default:
                // This connection has ended already (accept(2): treat the error like EAGAIN by retrying).
                continue
            }
        }
    }
}
