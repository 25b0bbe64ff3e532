import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct AddressTests {
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
    func malformedHostAndPortIsRefused(text: String) {
        let error = #expect(throws: SocketError.self) { try HostAndPort(parsing: text) }
        #expect(error?.code == .invalidAddress)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:80"), ("127.9.9.9", "127.9.9.9:80"), ("10.0.0.1", "10.0.0.1:80"),
        ("::1", "[::1]:80"), ("2001:DB8::1", "[2001:db8::1]:80"),
    ])
    func numericHostsAreAddresses(host: String, description: String) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 80))
        #expect(address.description == description)
        #expect(address.port == 80)
    }

    @Test(arguments: ["", "localhost", "1.2.3", "1.2.3.4.5", "256.1.1.1", "::g", "127.0.0.1 ", "[::1]"])
    func namesAreNoAddresses(host: String) {
        #expect(SocketAddress(numericHost: host, port: 80) == nil)
    }

    @Test(arguments: [
        ("169.254.0.0", true, false), ("169.254.255.255", true, false), ("169.253.255.255", false, false),
        ("169.255.0.0", false, false), ("fe80::", true, false), ("febf:ffff::1", true, false),
        ("fec0::1", false, false), ("fe7f::1", false, false), ("::ffff:169.254.1.2", true, false),
        ("::169.254.1.2", true, false), ("64:ff9b::169.254.1.2", true, false), ("64:ff9c::169.254.1.2", false, false),
        ("::ffff:10.0.0.1", false, false), ("100.100.100.200", false, true), ("::ffff:100.100.100.200", false, true),
        ("100.100.100.201", false, false), ("fd00:ec2::254", false, true), ("fd00:ec2::255", false, false),
        ("fd00:ec2:0:0:1::254", false, false), ("127.0.0.1", false, false), ("::1", false, false), ("::", false, false),
    ])
    func linkLocalAndMetadataAddressesAreRecognized(host: String, isLinkLocal: Bool, isMetadata: Bool) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 80))
        #expect(address.isLinkLocal == isLinkLocal)
        #expect(address.isMetadataService == isMetadata)
    }

    @Test(arguments: [
        ("8.8.8.8", true), ("1.0.0.0", true), ("9.255.255.255", true), ("11.0.0.0", true), ("100.63.255.255", true),
        ("100.128.0.0", true), ("172.15.255.255", true), ("172.32.0.0", true), ("192.167.0.0", true),
        ("198.17.0.1", true),
        ("198.20.0.0", true), ("223.255.255.255", true), ("192.0.1.1", true),
        ("0.0.0.0", false), ("0.255.0.1", false), ("10.0.0.1", false), ("127.0.0.1", false), ("127.255.255.255", false),
        ("169.254.169.254", false), ("172.16.0.0", false), ("172.31.255.255", false), ("192.168.0.1", false),
        ("100.64.0.0", false), ("100.127.255.255", false), ("192.0.0.8", false), ("192.0.2.1", false),
        ("192.88.99.1", false), ("198.18.0.1", false), ("198.19.255.255", false), ("198.51.100.7", false),
        ("203.0.113.1", false), ("224.0.0.1", false), ("240.0.0.1", false), ("255.255.255.255", false),
        ("2600::1", true), ("2001:4860::8888", true), ("3ffe::1", true), ("2001:1::1", true),
        ("::", false), ("::1", false), ("fc00::1", false), ("fdff::1", false), ("fe80::1", false), ("fec0::1", false),
        ("ff02::1", false), ("2001:db8::1", false), ("2001::1", false), ("2001:2::1", true), ("2002:a00:1::", false),
        ("3fff:fff::1", false),
        ("4000::1", false), ("100::1", false), ("64:ff9b:1::1", false),
        ("::ffff:8.8.8.8", true), ("::ffff:10.0.0.1", false), ("::10.0.0.1", false), ("64:ff9b::8.8.8.8", true),
        ("64:ff9b::127.0.0.1", false),
    ])
    func addressOfTheInternetIsPublic(host: String, isPublic: Bool) throws {
        let address = try #require(SocketAddress(numericHost: host, port: 80))
        #expect(address.isPublic == isPublic)
    }

    @Test func resolverKnowsLocalhostAndNumericAddresses() async throws {
        let found = try await Resolver.resolve(HostAndPort(host: "localhost", port: 7))
        #expect(found.allSatisfy { ["127.0.0.1", "::1"].contains($0.host) && $0.port == 7 })
        #expect(!found.isEmpty)
        let numeric = try await Resolver.resolve(HostAndPort(host: "10.1.2.3", port: 9))
        #expect(numeric.map(\.description) == ["10.1.2.3:9"])
    }

    @Test func unknownNameIsUnresolvable() async {
        let error = await #expect(throws: SocketError.self) {
            try await Resolver.resolve(HostAndPort(host: "nowhere.invalid", port: 7))
        }
        #expect(error?.code == .unresolvable)
    }
}
