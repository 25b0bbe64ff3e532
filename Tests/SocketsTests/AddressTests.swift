import Sockets
import TestSupport
import Testing

@Suite struct AddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8080, "127.0.0.1:8080"),
        ("localhost:0", "localhost", 0, "localhost:0"),
        (":8080", "0.0.0.0", 8080, "0.0.0.0:8080"),
        ("[::1]:65535", "::1", 65535, "[::1]:65535"),
        ("[::]:1", "::", 1, "[::]:1"),
    ])
    func hostAndPortAreRead(text: String, host: String, port: Int, description: String) throws {
        let target = try HostAndPort(parsing: text)
        #expect(target.host == host)
        #expect(Int(target.port) == port)
        #expect(target.description == description)
    }

    @Test(arguments: [
        "", "localhost", "localhost:", "localhost:x", "localhost:65536", "localhost:-1", "::1:80", "::1", "[::1]",
    ])
    func whatIsNotHostAndPortIsRefused(text: String) {
        let error = #expect(throws: SocketError.self) { try HostAndPort(parsing: text) }
        #expect(error?.code == .invalidAddress)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:80", true), ("127.9.9.9", "127.9.9.9:80", true), ("10.0.0.1", "10.0.0.1:80", false),
        ("::1", "[::1]:80", true), ("2001:DB8::1", "[2001:db8::1]:80", false),
    ])
    func numericHostsAreAddresses(host: String, description: String, isLoopback: Bool) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 80))
        #expect(address.description == description)
        #expect(address.isLoopback == isLoopback)
        #expect(address.port == 80)
    }

    @Test(arguments: ["", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "::g", "127.0.0.1 ", "[::1]"])
    func namesAreNot(host: String) {
        #expect(SocketAddress(numericHost: host, port: 80) == nil)
    }

    @Test func theResolverKnowsLocalhostAndNumbers() async throws {
        let found = try await Resolver.resolve(HostAndPort(host: "localhost", port: 7))
        #expect(found.allSatisfy { $0.isLoopback && $0.port == 7 })
        #expect(!found.isEmpty)
        let numeric = try await Resolver.resolve(HostAndPort(host: "10.1.2.3", port: 9))
        #expect(numeric.map(\.description) == ["10.1.2.3:9"])
    }

    @Test func anUnknownNameIsUnresolvable() async {
        let error = await #expect(throws: SocketError.self) {
            try await Resolver.resolve(HostAndPort(host: "nowhere.invalid", port: 7))
        }
        #expect(error?.code == .unresolvable)
    }
}
