import ChatterdBasics
import ChatterdHTTP
import Testing

@Suite struct HTTPDateTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (-86_400, "Wed, 31 Dec 1969 00:00:00 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
        (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (4_107_456_000, "Sun, 28 Feb 2100 00:00:00 GMT"), (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 GMT"),
        (2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
    ]) func timeIsWrittenAsADate(_ seconds: Int, _ text: String) {
        #expect(HTTPDate.text(seconds) == text)
    }

    @Test func cachedDateChangesWithTheSecond() {
        var date = HTTPDate()
        for seconds in [0, 0, 1, 0] {
            var buffer = ByteBuffer()
            date.append(seconds, to: &buffer)
            #expect(buffer.string == HTTPDate.text(seconds))
        }
    }

    @Test func dateIsReadBack() {
        for seconds in stride(from: -62_135_596_800, to: 253_402_300_800, by: 86_400 * 37 + 12_345) {
            #expect(HTTPDate.seconds(of: HTTPDate.text(seconds)) == seconds)
        }
    }

    @Test(arguments: [
        "", "7", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08-49-37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun,x06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
    ])
    func otherTextIsNoDate(_ text: String) {
        #expect(HTTPDate.seconds(of: text) == nil)
    }
}
