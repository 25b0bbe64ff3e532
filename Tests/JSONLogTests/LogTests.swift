import ChatterdBasics
import ChatterdJSONLog
import Dispatch
import Glibc
import Testing

/// A log with captured output.
private final class Captured {
    let log: Log
    private let descriptors: [Int32]

    init(appID: Log.AppID = .hash, secrets: [String] = [], clock: @escaping Log.Clock = { (1_795_182_070, 7_999_999) })
    {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        descriptors = ends
        log = Log(descriptor: ends[1], appID: appID, secrets: secrets, clock: clock)
    }

    /// Reads the remaining lines: the log writes on its own thread, and the next test may get the descriptor's number.
    deinit {
        let (log, end) = (log, descriptors[1])
        DispatchQueue.global().async {
            log.flush(within: .never)
            close(end)
        }
        while !nextBytes().isEmpty {}
        close(descriptors[0])
    }

    /// The logged bytes, which must fit into the pipe.
    func bytes() -> [UInt8] {
        log.flush(within: .never)
        return nextBytes()
    }

    /// The next logged bytes; waits for some.
    func nextBytes() -> [UInt8] {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptors[0], &chunk, chunk.count)
        return Array(chunk.prefix(max(0, count)))
    }

    func text() -> String {
        String(decoding: bytes(), as: UTF8.self)
    }
}

private func record(id: String = "r1", appID: String? = nil, code: Log.Word = "ok") -> Log.Request {
    Log.Request(
        id: id, route: "/llmchat", method: "POST", status: 200, appID: appID, bytesIn: 120, bytesOut: 4_096,
        firstByte: .nanoseconds(1_234_567), total: .nanoseconds(60_000_000_999), code: code)
}

private enum Outcome: String, CaseIterable {
    case tooLate = "too_late"
}

@Suite(.timeLimit(.minutes(30))) struct LogTests {
    @Test func requestIsOneLine() {
        let captured = Captured(appID: .plain)
        captured.log.request(record(appID: "edu.example.app"))
        #expect(
            captured.text() == #"{"time":"2026-11-20T13:41:10.007Z","level":"info","msg":"request","id":"r1","#
                + #""route":"/llmchat","method":"POST","status":200,"app":"edu.example.app","bytes_in":120,"#
                + #""bytes_out":4096,"first_byte_ms":1.234,"total_ms":60000.000,"code":"ok"}"# + "\n")
    }

    @Test func eventIsOneLineWithItsFields() {
        let captured = Captured()
        captured.log.event(
            .warning, "store away", .upstream("gpu"), .attempt(2), .milliseconds(-1), .code(.init(Outcome.tooLate)),
            .error("no \"route\""))
        #expect(
            captured.text() == #"{"time":"2026-11-20T13:41:10.007Z","level":"warning","msg":"store away","#
                + #""upstream":"gpu","attempt":2,"ms":-1,"code":"too_late","error":"no \"route\""}"# + "\n")
    }

    @Test(arguments: [
        (0, 0, "1970-01-01T00:00:00.000Z"), (951_782_399, 999_999_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400, 1_000_000, "2000-02-29T00:00:00.001Z"), (4_102_444_799, 0, "2099-12-31T23:59:59.000Z"),
    ])
    func timeIsThatOfTheClock(_ seconds: Int, nanoseconds: Int, text: String) {
        let captured = Captured(clock: { (seconds, nanoseconds) })
        captured.log.event(.info, "start")
        #expect(captured.text().hasPrefix("{\"time\":\"\(text)\""))
    }

    @Test func lineIsJSONForAllBytesOfAClient() throws {
        let captured = Captured(appID: .plain)
        let everything = String(decoding: Array(0...255), as: UTF8.self) + "\u{2028}\u{0}\"\\\r\n{"
        captured.log.request(record(id: everything, appID: everything))
        let bytes = captured.bytes()
        try JSONReader.validate(bytes.span)
        #expect(bytes.count { $0 == UInt8(ascii: "\n") } == 1)
        #expect(bytes.last == UInt8(ascii: "\n"))
    }

    @Test func longTextIsCutBetweenCharacters() throws {
        let captured = Captured(appID: .plain)
        for length in 0..<4 {
            captured.log.request(
                record(id: String(repeating: "x", count: length) + String(repeating: "😀", count: 10_000)))
        }
        for line in captured.bytes().split(separator: UInt8(ascii: "\n")) {
            #expect(line.count < 1_024)
            try JSONReader.validate(Array(line).span)
            #expect(!String(decoding: line, as: UTF8.self).contains("\u{FFFD}"))
        }
    }

    @Test func secretInAnErrorIsRemoved() {
        let captured = Captured(secrets: ["hunter2", "", "a"])
        captured.log.event(.error, "store away", .error("missing \"=\" after \"hunter2\", a pity"))
        captured.log.event(.info, "migration", .detail("of hunter2"))
        let text = captured.text()
        #expect(!text.contains("hunter2"))
        #expect(text.contains("a pity"))
    }

    /// The combining mark belongs to the last character of the secret.
    @Test func secretBeforeACombiningMarkIsRemoved() {
        let captured = Captured(secrets: ["hunter2"])
        captured.log.event(.error, "store away", .error("no role hunter2\u{301}, and hunter2 again"))
        #expect(captured.text().contains("no role (secret)\u{301}, and (secret) again"))
    }

    @Test func laterSecretIsRemovedToo() {
        let captured = Captured(secrets: ["hunter2"])
        captured.log.conceal(["sesame", "sesame-open", "a"])
        captured.log.event(.error, "store away", .error("a sesame-open, a sesame, a hunter2"))
        #expect(captured.text().contains("a (secret), a (secret), a (secret)"))
    }

    @Test func hashOfAnAppIDIsTheSameWithinOneLogOnly() {
        func app(_ captured: Captured, _ appID: String) -> String {
            captured.log.request(record(appID: appID))
            let text = captured.text()
            return text.firstRange(of: "\"app\":\"").map { String(text[$0.upperBound...].prefix(13)) } ?? ""
        }
        let (one, other) = (Captured(), Captured())
        let first = app(one, "edu.example.app")
        #expect(first.count == 13 && first.last == "\"")
        #expect(first.dropLast().allSatisfy { $0.isHexDigit && !$0.isUppercase })
        #expect(app(one, "edu.example.app") == first)
        #expect(app(one, "edu.example.apq") != first)
        #expect(app(other, "edu.example.app") != first)
    }

    @Test func appIDIsNotShownInModeNone() {
        let captured = Captured(appID: .none)
        captured.log.request(record(appID: "edu.example.app"))
        captured.log.event(.info, "turn", .appID("edu.example.app"))
        #expect(!captured.text().contains("app"))
    }

    @Test func announcementIsPlainTextAndWrittenAtOnce() {
        let captured = Captured()
        captured.log.announce("listening on http://127.0.0.1:8080")
        #expect(captured.text() == "listening on http://127.0.0.1:8080\n")
    }

    @Test func linesOfManyThreadsStayWhole() throws {
        let captured = Captured()
        let log = captured.log
        let threads = 8
        let lines = 500
        DispatchQueue.global().async {
            DispatchQueue.concurrentPerform(iterations: threads) { thread in
                for line in 0..<lines { log.request(record(id: "\(thread)-\(line)")) }
            }
        }
        var text: [UInt8] = []
        while text.count(where: { $0 == UInt8(ascii: "\n") }) < threads * lines {
            text += captured.nextBytes()
        }
        for line in text.split(separator: UInt8(ascii: "\n")) {
            try JSONReader.validate(Array(line).span)
        }
    }

    @Test func blockedReaderLosesLinesAndGetsTheirCount() {
        let captured = Captured()
        // No reader yet. The writer may have as many bytes as the limit, and the log keeps as many again, so this is three times the limit.
        for _ in 0..<65_000 { captured.log.request(record()) }
        var text = ""
        while !text.contains("log lines dropped") {
            captured.log.event(.info, "still here")
            text = text.suffix(1_000) + String(decoding: captured.nextBytes(), as: UTF8.self)
        }
        #expect(text.contains("\"msg\":\"log lines dropped\",\"count\":"))
    }
}
