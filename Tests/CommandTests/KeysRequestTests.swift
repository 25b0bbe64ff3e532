import ChatterdBasics
import ChatterdIdentity
import Testing

@testable import ChatterdCommand

/// The arguments of `chatterd keys`.
@Suite struct KeysRequestTests {
    private func request(_ arguments: String...) throws -> KeysRequest {
        guard case .keys(let request) = try Command(arguments: ["keys"] + arguments) else {
            throw UsageError("another command")
        }
        return request
    }

    @Test func appIsEnoughForAKey() throws {
        #expect(try request("create", "--app", "shop") == .create(AppKeyGrant(app: "shop"), lifetime: nil))
        #expect(try request("create", "--app=shop") == .create(AppKeyGrant(app: "shop"), lifetime: nil))
    }

    @Test func optionsAreRead() throws {
        let grant = AppKeyGrant(app: "shop", label: "till 3", scopes: [.chat, .admin], models: ["a", "b:7b"])
        let made = try request(
            "create", "--label", "till 3", "--scopes", "chat,admin", "--app", "shop", "--models=a, b:7b", "--expires",
            "30d")
        #expect(made == .create(grant, lifetime: .seconds(30 * 86_400)))
    }

    @Test func limitsAreRead() throws {
        let allowance = Allowance(requestsPerMinute: 60, tokensPerDay: 1_000_000, concurrentReplies: 0)
        let made = try request(
            "create", "--app", "shop", "--requests-per-minute", "60", "--tokens-per-day=1000000",
            "--concurrent-replies", "0")
        #expect(made == .create(AppKeyGrant(app: "shop", allowance: allowance), lifetime: nil))
    }

    @Test func keysAreListedRevokedAndRotated() throws {
        #expect(try request("list") == .list(app: nil))
        #expect(try request("list", "--app", "shop") == .list(app: "shop"))
        #expect(try request("revoke", "0123") == .revoke("0123"))
        #expect(try request("rotate", "0123") == .rotate("0123", overlap: .seconds(86_400)))
        #expect(try request("rotate", "--overlap", "2h", "0123") == .rotate("0123", overlap: .seconds(7_200)))
    }

    @Test(arguments: [
        [], ["make"], ["create"], ["create", "--app"], ["create", "--app", ""], ["create", "--app", "a\u{1F}b"],
        ["create", "--app", "a", "--scopes", "all"], ["create", "--app", "a", "--scopes", ""],
        ["create", "--app", "a", "--models", ""], ["create", "--app", "a", "--expires", "0d"],
        ["create", "--app", "a", "--expires", "3"], ["create", "--app", "a", "--expires", "99999999999999999999d"],
        ["create", "--app", "a", "--limit", "3"], ["create", "--app", "a", "--tokens-per-day", "-1"],
        ["create", "--app", "a", "--requests-per-minute", "1.5"], ["create", "--app", "a", "--concurrent-replies"],
        ["create", "--app", "a", "b"],
        ["create", "--app", "a", "--app", "b"],
        ["list", "shop"], ["revoke"], ["revoke", "a", "b"], ["rotate"], ["rotate", "a", "--overlap", "-1d"],
    ])
    func wrongArgumentsAreRefused(arguments: [String]) {
        #expect(throws: UsageError.self) { try Command(arguments: ["keys"] + arguments) }
    }
}
