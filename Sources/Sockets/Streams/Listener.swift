import CChatterdSystem
import ChatterdBasics
import Glibc

/// A listening socket on a shard: a slot is taken before a connection is accepted.
///
/// When all slots are taken, connections wait in the system's queue, and are refused by it when that is full. When the
/// process has no descriptors left, accepting pauses for a moment that doubles up to 6.4 s.
public final class Listener: ReadinessHandler, @unchecked Sendable {
    private static let backlog: Int32 = 4096
    private static let firstPause = Duration.milliseconds(100)
    private static let lastPause = Duration.milliseconds(6400)

    /// The address that was bound, with the port that the system picked.
    public let address: SocketAddress

    private let shard: Shard
    private let accepted: @Sendable (Int32, SocketAddress) -> Void
    private var descriptor: Int32
    private var registration: Registration?
    private var freeSlots: Int
    private var isReadable = false
    private var pause = firstPause
    private var pauseTimer: DeadlineTimer?

    /// Binds and listens; nothing is accepted before `start`.
    ///
    /// - Throws: `addressInUse`, `system`.
    public init(
        binding target: SocketAddress, on shard: Shard, slots: Int,
        accepted: @escaping @Sendable (Int32, SocketAddress) -> Void
    ) throws(SocketError) {
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
        self.accepted = accepted
        address = bound
        freeSlots = slots
    }

    /// Begins to accept.
    public func start() {
        shard.run { [self] in
            pauseTimer = DeadlineTimer(on: shard) { [unowned self] in accept() }
            // The set has room for one more: it was made with the shard.
            registration = try? shard.register(descriptor, handler: self)
        }
    }

    /// Gives a connection's slot back; may be called from any thread.
    public func releaseSlot() {
        shard.run { [self] in
            freeSlots += 1
            if isReadable {
                accept()
            }
        }
    }

    /// Stops listening; connections that were accepted stay.
    public func close() async {
        await withCheckedContinuation { continuation in
            shard.run { [self] in
                if descriptor >= 0 {
                    if let registration {
                        shard.unregister(registration)
                    }
                    pauseTimer?.cancel()
                    Glibc.close(descriptor)
                    descriptor = -1
                }
                continuation.resume()
            }
        }
    }

    /// Called by the shard.
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
                pause = Self.firstPause
                accepted(client, SocketAddress(storage, length: length))
            case -EAGAIN:
                isReadable = false
            case -EMFILE, -ENFILE, -ENOBUFS, -ENOMEM:
                pauseTimer?.set(after: pause)
                pause = min(pause * 2, Self.lastPause)
                return
            default:
                // That one connection is gone already (accept(2): treat like EAGAIN and go on).
                continue
            }
        }
    }
}
