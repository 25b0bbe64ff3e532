import ChatterdHTTPClient
import ChatterdSockets
import ChatterdTestSupport
import Testing

/// Addresses at which clouds provide the keys of their machines.
@Suite(.timeLimit(.minutes(30))) struct ForbiddenAddressTests {
    @Test(arguments: [
        "169.254.169.254", "169.254.0.1", "[fe80::1]", "[febf::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]",
        "[fd00:ec2::254]", "100.100.100.200",
        // Texts that only the look-up of the system accepts as addresses.
        "2852039166", "0xa9.0xfe.0xa9.0xfe", "169.254.43518",
    ])
    func metadataAddressIsNotConnectedTo(host: String) async throws {
        try await blocking {
            let outcome = try ClientHarness().ask(of: "http://\(host):1")
            #expect(outcome.errors.map(\.code) == [.forbiddenAddress])
            #expect(outcome.head == nil)
        }
    }

    @Test func linkLocalAddressIsConnectedToIfAllowed() async throws {
        try await blocking {
            var limits = HTTPClientLimits()
            limits.connect = .milliseconds(100)
            limits.allowsLinkLocal = true
            // The link does not exist. Any error of the system shows that the client tried to connect.
            let outcome = try ClientHarness(limits).ask(of: "http://[fe80::1]:1")
            #expect(outcome.errors.count == 1)
            #expect(outcome.errors.first?.code != .forbiddenAddress)
        }
    }

    @Test func refusalNamesHostAndAddress() async throws {
        try await blocking {
            let outcome = try ClientHarness().ask(of: "http://2852039166:1")
            let message = try #require(outcome.errors.first?.message)
            #expect(message.contains("2852039166 is at 169.254.169.254"))
        }
    }
}
