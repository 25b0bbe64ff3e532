import ChatterdConfiguration
import Testing

@testable import ChatterdServer

@Suite(.timeLimit(.minutes(30))) struct AdminTokenTests {
    @Test(arguments: [
        ("Bearer 0123456789abcdef", true), ("bearer  0123456789abcdef", true), ("BEARER 0123456789abcdef", true),
        ("Bearer 0123456789abcdeF", false), ("Bearer 0123456789abcde", false), ("Bearer 0123456789abcdef0", false),
        ("Bearer 0123456789abcdef0123456789abcdef", false), ("Bearer ", false), ("Bearer", false), ("", false),
        ("Basic 0123456789abcdef", false), ("0123456789abcdef", false),
    ])
    func onlyTheExactTokenIsAccepted(_ field: String, isAdmitted: Bool) {
        let token = AdminToken(ConfigurationSecret("0123456789abcdef"))
        #expect(token.admits(field) == isAdmitted)
    }

    @Test func missingFieldIsRefused() {
        #expect(!AdminToken(ConfigurationSecret("0123456789abcdef")).admits(nil))
    }
}
