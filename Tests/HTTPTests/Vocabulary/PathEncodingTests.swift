import ChatterdHTTP
import Testing

@Suite struct PathEncodingTests {
    @Test(arguments: ["a", "a/b", "100%", "é\u{1f600}", "a b+c?d#e", "%2F", "~._-", "\"'\\<>"])
    func segmentIsReadAsItWasWritten(text: String) throws {
        let target = try Target("/conversations/" + PathEncoding.segment(text))
        #expect(target.segment(2) == text)
    }
}
