import ChatterdConfiguration
import Testing

@testable import ChatterdServer
@testable import ChatterdServerTestSupport

@Suite(.timeLimit(.minutes(30))) struct AdminTokenTests {
    @Test(arguments: [
        ("0123456789abcdef", true), ("0123456789abcdeF", false), ("0123456789abcde", false),
        ("0123456789abcdef0", false), ("0123456789abcdef0123456789abcdef", false), ("", false),
        (" 0123456789abcdef", false),
    ])
    func onlyTheExactTokenIsAccepted(_ text: String, isAccepted: Bool) {
        #expect(AdminToken(ConfigurationSecret("0123456789abcdef")).matches(text) == isAccepted)
    }
}
