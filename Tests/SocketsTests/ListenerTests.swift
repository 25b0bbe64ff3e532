import ChatterdTestSupport
import Glibc
import Testing

@testable import ChatterdSockets

@Suite(.timeLimit(.minutes(30))) struct ListenerTests {
    let shard: Shard

    init() throws {
        shard = try TestShard.any()
    }

    @Test func connectionWithoutASlotWaitsForOne() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard, slots: 2, onBytes: TestServer.echo)
            let clients = try (0..<3).map { number in
                let client = try TCPConnection.connect(port: server.port)
                // The clients connect one after the other, so that the third one waits.
                if number < 2 { _ = try server.connection(number) }
                client.send("x")
                return client
            }
            #expect(clients[0].receive() == .bytes([120]))
            #expect(clients[1].receive() == .bytes([120]))
            shard.runAndWait {}
            #expect(server.count == 2)
            try server.connection(0).close()
            server.listener.releaseSlot()
            #expect(clients[2].receive() == .bytes([120]))
            #expect(server.count == 3)
        }
    }

    @Test func addressInUseIsRefused() async throws {
        try await blocking { [shard] in
            let server = try TestServer(on: shard)
            let error = #expect(throws: SocketError.self) {
                try Listener(binding: server.listener.address, on: shard, slots: 1)
            }
            #expect(error?.code == .addressInUse)
        }
    }

    @Test func closedListenerAcceptsNoConnectionAndKeepsItsOwn() async throws {
        // The port is kept bound, so that no other process listens on it afterwards.
        let reserved = try BoundPort.refusing()
        let server = try TestServer(on: shard, at: reserved, onBytes: TestServer.echo)
        let client = try TCPConnection.connect(port: server.port)
        client.send("x")
        try await blocking { #expect(client.receive() == .bytes([120])) }
        // A child process has copies of all descriptors until it executes its program.
        let copies = listeningSockets(on: server.port).map { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        defer { for copy in copies { close(copy) } }
        #expect(copies.count == 1)
        await server.listener.close()
        await server.listener.close()
        try await blocking {
            #expect(throws: TestFailure.self) { try TCPConnection.connect(port: server.port) }
            client.send("y")
            #expect(client.receive() == .bytes([121]))
        }
        server.listener.releaseSlot()
    }

    @Test func systemChoosesAPort() throws {
        let server = try TestServer(on: shard)
        #expect(server.listener.address.port != 0)
        #expect(server.listener.address.host == "127.0.0.1")
    }

    /// The descriptors of this process that listen on a port of the loopback.
    private func listeningSockets(on port: Int) -> [Int32] {
        (0..<65_536).filter { descriptor in
            var isListening: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening != 0 else {
                return false
            }
            return SocketAddress.bound(descriptor)?.port == UInt16(port)
        }
    }
}
