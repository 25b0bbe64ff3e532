import Dispatch
import Glibc

/// Looks up the addresses of names, on its own threads because `getaddrinfo` blocks.
public enum Resolver {
    /// A fixed number, so that a name server that hangs cannot cause any number of threads.
    private static let queues = (0..<4).map { DispatchQueue(label: "chatterd.resolver.\($0)") }

    /// The addresses of a host, in the system's order of preference.
    ///
    /// - Throws: `unresolvable`.
    public static func resolve(_ target: HostAndPort) async throws(SocketError) -> [SocketAddress] {
        if let address = SocketAddress(numericHost: target.host, port: target.port) {
            return [address]
        }
        let queue = queues[abs(target.hashValue % queues.count)]
        let result = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: lookUp(target)) }
        }
        return try result.get()
    }

    /// Looks the addresses up on the calling thread, which blocks.
    public static func lookUp(_ target: HostAndPort) -> Result<[SocketAddress], SocketError> {
        if let address = SocketAddress(numericHost: target.host, port: target.port) {
            return .success([address])
        }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(target.host, String(target.port), &hints, &list)
        guard status == 0 else {
            return .failure(
                SocketError(
                    .unresolvable, "the name \(target.host) has no address: \(String(cString: gai_strerror(status)))"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let info = next?.pointee {
            if info.ai_family == AF_INET || info.ai_family == AF_INET6, let address = info.ai_addr {
                var storage = sockaddr_storage()
                withUnsafeMutableBytes(of: &storage) {
                    $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
                }
                addresses.append(SocketAddress(storage, length: info.ai_addrlen))
            }
            next = info.ai_next
        }
        guard !addresses.isEmpty else {
            return .failure(SocketError(.unresolvable, "the name \(target.host) has no IPv4 or IPv6 address"))
        }
        return .success(addresses)
    }
}
