import ChatterdBasics
import ChatterdTestSupport
import Testing

@testable import ChatterdRelay

/// The lines of an exported conversation, written and read.
@Suite(.timeLimit(.minutes(30))) struct ConversationFileTests {
    @Test func rowsSurviveTheirLines() throws {
        let rows = SampleConversation.rows
        let read = try Self.read(SampleConversation.file())
        #expect(read.rows == rows)
        #expect(read.reader.header == SampleConversation.header)
        #expect(read.reader.isComplete && read.reader.rows == rows.count)
        #expect(SampleConversation.file(of: read.rows) == SampleConversation.file())
    }

    @Test func textOfAnyCharactersSurvives() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let row = ConversationRow(
                seq: 1, kind: .message, time: 5, role: Array(generator.text(upTo: 8).utf8),
                content: Array(generator.text(upTo: 200).utf8))
            let file = SampleConversation.file(of: [row])
            #expect(try Self.read(file).rows == [row])
            #expect(file.filter { $0 == 10 }.count == 3)
        }
    }

    @Test func runningReplyIsInterruptedAndHasNoText() throws {
        var row = SampleConversation.rows[2]
        guard case .reply(var reply) = row.kind else { return }
        reply.state = nil
        row.kind = .reply(reply)
        let closed = row.closed
        #expect(closed.content.isEmpty && closed.thinking.isEmpty && closed.extras.isEmpty)
        guard case .reply(let ended) = closed.kind else { return }
        #expect(ended.state == .interrupted && ended.id == reply.id && ended.lastEvent.isEmpty)
    }

    @Test func piecesCutAtAnyLineEndGiveTheSameRows() throws {
        let file = SampleConversation.file()
        let lines = file.split(separator: 10, omittingEmptySubsequences: false).dropLast().map { Array($0) + [10] }
        for cut in 0...lines.count {
            let first = Array(lines[..<cut].joined())
            let second = Array(lines[cut...].joined())
            var start = ConversationFileReader.Start()
            var rows: [ConversationRow] = []
            if cut > 0 {
                let read = try Self.read(first, isPiece: true)
                rows = read.rows
                start = ConversationFileReader.Start(last: rows.last?.seq ?? 0, rows: rows.count)
            }
            #expect(ConversationFileReader.hasHeader(second.span) == (cut == 0))
            let read = try Self.read(second, isPiece: true, after: start)
            #expect(rows + read.rows == SampleConversation.rows)
            #expect(read.reader.isComplete == (cut < lines.count))
        }
    }

    @Test func fileThatIsCutAnywhereIsRefused() {
        let file = SampleConversation.file()
        for end in 0..<(file.count - 1) {
            #expect(throws: RelayError.self, "\(end)") { try Self.read(Array(file[..<end])) }
            guard end > 0, file[end - 1] != 10, file[end] != 10 else { continue }
            #expect(throws: RelayError.self, "\(end)") { try Self.read(Array(file[..<end]), isPiece: true) }
        }
        // The last line end is not needed.
        #expect(throws: Never.self) { try Self.read(Array(file.dropLast())) }
    }

    @Test func missingOrRepeatedLineIsNoticed() {
        let lines = SampleConversation.file().split(separator: 10).map { Array($0) + [10] }
        for index in lines.indices {
            var fewer = lines
            fewer.remove(at: index)
            #expect(throws: RelayError.self, "without line \(index)") { try Self.read(Array(fewer.joined())) }
            let more = lines[...index] + lines[index...]
            #expect(throws: RelayError.self, "line \(index) twice") { try Self.read(Array(more.joined())) }
            guard index > 0 else { continue }
            var swapped = lines
            swapped.swapAt(index, index - 1)
            #expect(throws: RelayError.self, "line \(index) above") { try Self.read(Array(swapped.joined())) }
        }
    }

    @Test func pieceThatDoesNotFollowIsRefused() {
        let line = Array(
            #"{"seq":7,"kind":"message","role":"user","content":"x","time":"2026-11-20T10:39:26.491288Z"}"#.utf8)
        for (last, isFine) in [(6, true), (5, false), (7, false), (0, false)] as [(Int64, Bool)] {
            let rows = try? Self.read(line, isPiece: true, after: .init(last: last, rows: 3)).rows
            #expect((rows?.count == 1) == isFine)
        }
    }

    @Test(arguments: [
        (#"{"seq":2"#, #"{"seq":2,"seq":2"#), (#""kind":"prompt""#, #""kind":"note""#), (#""turn":3"#, #""turn":2"#),
        (#""state":"complete""#, #""state":"streaming""#), (#""state":"complete""#, #""state":"failed""#),
        (#""after":2"#, #""after":5"#), (#""after":2"#, #""after":6"#), (#""after":2"#, #""after":-1"#),
        (#""after":2"#, #""after":"2""#), (#""role":"user""#, #""role":7"#), (#""content":"one""#, #""content":null"#),
        (#""seq":2"#, #""seq":9007199254740993"#), (#""seq":2"#, #""seq":2.0"#), (#""seq":2"#, #""place":2"#),
        (#""images":["#, #""Images":["#), (#""images":["aGk="]"#, #""images":[1]"#), (#""attempt":2"#, #""attempt":0"#),
        (#""tool_calls":[{"#, #""images":[{"#), (#""options":{"seed":7"#, #""options":{"model":"big""#),
        (#""options":{"seed":7"#, #""options":{"messages":[]"#),
        (#""options":{"seed":7"#, #""options":{"seed":7,"Model":"big""#),
        (#""done":true"#, #""done":false"#), (#""parts":["#, #""state":["#), (#""rows":6"#, #""rows":5"#),
        (#""version":1"#, #""version":2"#), (#""chatterd":"conversation""#, #""chatterd":"chat""#),
        (#""time":"2026-11-20T10:39:26.491288Z""#, #""time":"2026-11-20T10:39:26Z""#),
        (#""topic":"demo""#, #""topic":7"#), (#""topic":"demo""#, #""title":"demo""#),
        (#""topic":"demo""#, #""topic":"demo","topic":"demo""#),
        (#""topic""#, #""t\#(String(repeating: "o", count: 64))""#),
        (#""demo""#, #""\#(String(repeating: "o", count: 513))""#),
        (#""topic""#, (0..<15).map { #""\#($0)":"""# }.joined(separator: ",") + #","topic""#),
        (#""id":"8a"#, #""id":"8x"#), (#"{"end":true"#, #"{"error":"x"}{"end":true"#),
    ])
    func changedFileIsRefusedWithItsLine(_ change: (before: String, after: String)) throws {
        let text = String(decoding: SampleConversation.file(), as: UTF8.self)
        let range = try #require(text.firstRange(of: change.before), "\(change.before)")
        let changed = text[..<range.lowerBound] + change.after + text[range.upperBound...]
        let line = text[..<range.lowerBound].count { $0 == "\n" } + 1
        do {
            _ = try Self.read(Array(changed.utf8))
            Issue.record("\(change.after) is accepted")
        } catch let error as RelayError {
            #expect(error.code == .invalidRequest)
            #expect(error.message.hasPrefix("Line \(line): ") || error.message.hasPrefix("Line \(line + 1): "))
        }
    }

    @Test func anyBytesAreRefusedOrRead() {
        var generator = SeededGenerator(seed: 11)
        let file = SampleConversation.file()
        for _ in 0..<2_000 {
            var changed = file
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                changed[Int.random(in: changed.indices, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            guard let rows = try? Self.read(changed).rows else { continue }
            // An accepted file can be exported and read again.
            #expect((try? Self.read(SampleConversation.file(of: rows)).rows) == rows)
        }
    }

    @Test(arguments: PeerNumber.all)
    func fileWithAnyNumbersIsReadOrRefused(_ number: PeerNumber) throws {
        let text = String(decoding: SampleConversation.file(), as: UTF8.self)
        for member in ["seq", "turn", "attempt", "after", "above", "rows", "version", "eval_count", "num_ctx", "seed"] {
            let pattern = try Regex("\"\(member)\":[0-9]+")
            #expect(text.contains(pattern), "\(member)")
            for match in text.matches(of: pattern) {
                let changed =
                    text[..<match.range.lowerBound] + "\"\(member)\":\(number.text)"
                    + text[match.range.upperBound...]
                guard let rows = try? Self.read(Array(changed.utf8)).rows else { continue }
                #expect((try? Self.read(SampleConversation.file(of: rows)).rows) == rows)
            }
        }
    }

    @Test func lastRowMayHaveTheGreatestNumber() throws {
        let largest = ConversationRow.largestSeq
        let line =
            #"{"seq":\#(largest),"above":3,"kind":"prompt","turn":\#(largest + 1),"role":"user","content":"x","time":"2026-11-20T10:39:26.491288Z"}"#
        let read = try Self.read(Array(line.utf8), isPiece: true, after: .init(last: 3, rows: 3))
        #expect(read.rows.map(\.seq) == [largest])
    }

    @Test func deepNestingIsRefused() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: RelayError.self) { try Self.read(Array("{\"seq\":\(deep)".utf8)) }
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00.000000Z", 0), ("1969-12-31T23:59:59.999999Z", -1),
        ("2026-11-20T10:39:26.491288Z", 1_795_171_166_491_288), ("2000-02-29T12:00:00.000001Z", 951_825_600_000_001),
        ("2261-12-31T23:59:59.999999Z", 9_214_646_399_999_999), ("1700-03-01T00:00:00.000000Z", -8_515_238_400_000_000),
    ])
    func timeIsParsedAsItIsWritten(_ sample: (text: String, time: Int64)) {
        #expect(Int64(rfc3339: Array(sample.text.utf8).span) == sample.time)
        var buffer = ByteBuffer()
        buffer.appendJSON { json in json.object { $0.member("t", time: sample.time) } }
        #expect(buffer.string == "{\"t\":\"\(sample.text)\"}")
    }

    @Test(arguments: [
        "", "2026-11-20T10:39:26Z", "2026-13-20T10:39:26.491288Z", "2026-02-29T10:39:26.491288Z",
        "2026-11-20T24:00:00.000000Z",
        "2026-11-20T10:60:26.491288Z", "2026-11-20 10:39:26.491288Z", "2026-11-20T10:39:26.491288+",
        "2026-11-00T10:39:26.491288Z",
        "9999-11-20T10:39:26.491288Z", "2026-11-20T10:39:60.491288Z", "2026-11-20T10:39:26.491288Z ",
    ])
    func otherTextIsNoTime(text: String) {
        #expect(Int64(rfc3339: Array(text.utf8).span) == nil)
    }

    private static func read(
        _ file: [UInt8], isPiece: Bool = false, after start: ConversationFileReader.Start = .init()
    ) throws -> (rows: [ConversationRow], reader: ConversationFileReader) {
        var reader = ConversationFileReader(isPiece: isPiece, after: start)
        var rows: [ConversationRow] = []
        try reader.read(file.span) { rows.append($0) }
        return (rows, reader)
    }
}
