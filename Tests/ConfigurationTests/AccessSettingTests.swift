import Testing

@testable import ChatterdConfiguration

/// Which mode of access a configuration has.
@Suite struct AccessSettingTests {
    private func access(_ settings: [String: String]) throws -> Configuration.Access {
        var environment = settings
        environment["DATABASE_URL"] = "postgresql:///x"
        environment["OLLAMA_URL"] = "http://127.0.0.1:9"
        return try Configuration(environment: environment).access
    }

    @Test(arguments: ["127.0.0.1:8080", "127.7.7.7:0", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"])
    func listenerOnTheLoopbackIsOpen(address: String) throws {
        let access = try access(["CHATTERD_LISTEN": address])
        #expect(access.mode == .open && !access.needsKeyAtStart)
        #expect(access.refusesForwardedRequests, "a proxy makes the listener public")
    }

    @Test(arguments: [":8080", "0.0.0.0:8080", "[::]:8080", "192.168.1.5:8080", "127.example:80", "chat.example:80"])
    func otherListenerNeedsKeys(address: String) throws {
        let access = try access(["CHATTERD_LISTEN": address])
        #expect(access.mode == .keys && access.needsKeyAtStart && !access.refusesForwardedRequests)
    }

    @Test func explicitModeHolds() throws {
        let open = try access(["CHATTERD_LISTEN": ":8080", "CHATTERD_ACCESS": "open"])
        #expect(open.mode == .open && !open.needsKeyAtStart && !open.refusesForwardedRequests)
        let keys = try access(["CHATTERD_LISTEN": "127.0.0.1:8080", "CHATTERD_ACCESS": "keys"])
        #expect(keys.mode == .keys && !keys.needsKeyAtStart && !keys.refusesForwardedRequests)
    }

    @Test func everyListenerCounts() throws {
        let files = ["CHATTERD_TLS_CERT": "/c", "CHATTERD_TLS_KEY": "/k", "CHATTERD_TLS_LISTEN": ":8443"]
        #expect(try access(files).mode == .keys)
    }

    @Test func adminTokenCanMakeTheFirstKey() throws {
        let access = try access(["CHATTERD_LISTEN": ":8080", "CHATTERD_ADMIN_TOKEN": "0123456789abcdef"])
        #expect(access.mode == .keys && !access.needsKeyAtStart)
    }
}
