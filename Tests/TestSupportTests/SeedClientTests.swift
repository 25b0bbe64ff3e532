import ChatterdTestSupport
import Testing

/// The outcomes that were measured with the tutorial's parser.
@Suite(.timeLimit(.minutes(30))) struct SeedClientTests {
    private let hello = ModelLine.token("Hello").dropLast()

    @Test(arguments: ["\n\n", "\r\n\r\n", "\n\n\n", "\n"])
    func theseLineEndsAreUnderstood(end: String) {
        let client = SeedClient(Array("data: \(hello)\(end)".utf8))
        #expect(client.message == "Hello")
        #expect(client.errMsg.isEmpty)
    }

    @Test(arguments: ["\r\r", ""])
    func otherLineEndsAreNotUnderstood(end: String) {
        #expect(SeedClient(Array("data: \(hello)\(end)".utf8)).message.isEmpty)
    }

    @Test func lineWithoutAColonCrashesTheClient() {
        #expect(SeedClient(Array("data\n\n".utf8)).violation == "data")
    }

    @Test(arguments: [": ping\n\n", "id: 3\n", "retry: 10\n", "{\"a\":1}\n"])
    func theseLinesAreIgnored(line: String) {
        let client = SeedClient(Array("\(line)data:\(hello)\n\n".utf8))
        #expect(client.message == "Hello")
        #expect(client.errMsg.isEmpty && client.violation == nil)
    }

    @Test(arguments: [
        "{\"error\":\"boom\"}",
        "{\"model\":\"m\",\"created_at\":\"t\",\"message\":{\"role\":\"a\",\"content\":\"boom\"}}",
    ])
    func errorEventReachesBubbleAndAlert(data: String) {
        let client = SeedClient(Array("event: error\ndata: \(data)\n\n".utf8))
        #expect(client.errMsg == "boom")
        #expect(client.message == "\n\n**llmChat Error**: boom\n\n")
    }

    @Test func errorWithoutItsEventReachesOnlyTheAlert() {
        let client = SeedClient(Array("data: {\"error\":\"boom\"}\n\n".utf8))
        #expect(client.errMsg == "boom")
        #expect(client.message.isEmpty)
    }

    @Test func doneMarkersAreErrors() {
        #expect(!SeedClient(Array("data: [DONE]\n\n".utf8)).errMsg.isEmpty)
    }

    @Test func everyCutGivesWhatACutStreamGives() {
        let bytes = Array("id: 1\r\ndata: \(ModelLine.token("é🇺🇸\u{300}x").dropLast())\r\n\r\n: c\n\n".utf8)
        var cuts: [Int] = []
        SeedClient.afterEveryCut(of: bytes) { position, client in
            cuts.append(position)
            let fresh = SeedClient(Array(bytes[..<position]))
            #expect(client.message == fresh.message && client.violation == fresh.violation)
        }
        #expect(cuts == Array(0...bytes.count))
    }
}
