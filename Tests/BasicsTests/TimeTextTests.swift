import Testing

@testable import ChatterdBasics

struct TimeTextTests {
    @Test(arguments: [("1s", 1), ("90s", 90), ("5m", 300), ("12h", 43_200), ("30d", 2_592_000)])
    func timesAreRead(_ text: String, _ seconds: Int) {
        #expect(TimeText.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", "s", "0s", "-1s", "1", "1w", "1.5h", "99999999999999999999d", "3651d", "1d\u{301}", "1\u{600}d",
    ])
    func otherTimesAreRefused(_ text: String) {
        #expect(TimeText.seconds(text) == nil)
    }
}
