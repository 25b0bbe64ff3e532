import Glibc
import TestSupport

/// Answers a connection after its first bytes and closes it, with the rest of the request unread. Takes one connection.
final class EarlyServer: Sendable {
    let port: Int
    private let descriptor: Int32

    /// With `next`, it takes so many bytes of the next request before it closes.
    init(answer: String, next: Int = 0) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) + getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0, listen(descriptor, 8) == 0 else { throw TestFailure("no port") }
        self.descriptor = descriptor
        port = Int(UInt16(bigEndian: address.sin_port))
        startThread {
            var buffer = [UInt8](repeating: 0, count: 1024)
            let client = accept(descriptor, nil, nil)
            _ = recv(client, &buffer, buffer.count, 0)
            _ = Array(answer.utf8).withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if next > 0 {
                _ = recv(client, &buffer, min(next, buffer.count), 0)
            }
            close(client)
        }
    }

    deinit {
        close(descriptor)
    }

    var url: String { "http://127.0.0.1:\(port)" }
}
