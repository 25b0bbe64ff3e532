import Dispatch
import Glibc
import Testing

/// A descriptor that is closed when its last user releases it, so that its number is not reused earlier.
private final class OwnDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit { close(number) }
}

/// A server that handles one request after the other, on its own thread.
final class TinyServer: Sendable {
    let port: UInt16
    /// Shared with the thread, which may use it after the server is released.
    private let listener: OwnDescriptor

    init(answer: @escaping @Sendable (_ requestLine: String) -> String) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let listener = OwnDescriptor(descriptor)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) + listen(descriptor, 16) + getsockname(descriptor, generic, &length)
            }
        }
        try #require(status == 0)
        port = UInt16(bigEndian: address.sin_port)
        DispatchQueue(label: "tiny").async {
            while true {
                let client = accept(listener.number, nil, nil)
                guard client >= 0 else { return }
                let reply = Array(answer(Self.requestLine(from: client)).utf8)
                _ = send(client, reply, reply.count, Int32(MSG_NOSIGNAL))
                // The connection ends even if a program that is being started has a copy of the descriptor.
                shutdown(client, Int32(SHUT_RDWR))
                close(client)
            }
        }
    }

    deinit {
        // Ends `accept` in the thread, or prevents it.
        shutdown(listener.number, Int32(SHUT_RDWR))
    }

    /// Reads a head to its end: closing a connection with unread bytes may discard the response.
    private static func requestLine(from client: Int32) -> String {
        var head: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while head.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let count = recv(client, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            head += bytes[..<count]
        }
        return String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    /// The response to a chat without messages.
    static let refusal = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

    static func ok(_ body: String) -> String { "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)" }
}
