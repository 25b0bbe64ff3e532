import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// The events that only client apps of the course know.
struct CourseEventTests {
    private static let calls = #""tool_calls":[{"function":{"name":"f","arguments":{"a":1,"b":{"c":["x"]}}}}]"#

    private func written(
        _ course: ChatterdAnswers.CourseEvents = .locationAndToolCalls,
        _ write: (inout any AnswerEncoder, inout ByteBuffer) -> Void
    ) -> String {
        var encoder = ChatterdAnswers(showsQueue: false, course: course).makeEncoder(context())
        return text { write(&encoder, &$0) }
    }

    private func append(
        _ line: String, to position: ReplyPosition, _ encoder: inout any AnswerEncoder, _ buffer: inout ByteBuffer
    ) {
        encoder.append(PositionedLines(Array(line.utf8).span, to: position), to: &buffer)
    }

    private func end(
        _ line: String, state: ReplyState = .complete, at position: ReplyPosition = ReplyPosition(text: 3),
        _ encoder: inout any AnswerEncoder, _ buffer: inout ByteBuffer
    ) {
        encoder.end(ReplyEnding(state: state, lastEvent: Array(line.utf8)), at: position, to: &buffer)
    }

    // MARK: - Calls of tools

    @Test func callsAreAnEventWithTheWholeLine() {
        let line = token(#""content":"","# + Self.calls)
        let position = ReplyPosition(text: 0, toolCalls: 9)
        #expect(
            written { append(line, to: position, &$0, &$1) }
                == "id: 0.0.9\nevent: tool_calls\ndata: \(line)\n\n")
        // Other clients get the line as before.
        #expect(written(.location) { append(line, to: position, &$0, &$1) } == "id: 0.0.9\ndata: \(line)\n\n")
    }

    @Test func textBesideCallsComesFirst() {
        let line = token(#""content":"Hm","thinking":"t","# + Self.calls)
        let events = written { append(line, to: ReplyPosition(text: 2, thinking: 1, toolCalls: 9), &$0, &$1) }
        #expect(
            events
                == "id: 2.1\ndata: \(token(#""content":"Hm","thinking":"t","tool_calls":[]"#))\n\n"
                + "id: 2.1.9\nevent: tool_calls\ndata: \(token(#""content":"","thinking":"","# + Self.calls))\n\n")
    }

    @Test func laterCallsFollowThePositionOfEarlierOnes() {
        let lines = [token(#""content":"","# + Self.calls), token(#""content":"b","# + Self.calls)]
        let events = written { encoder, buffer in
            append(lines[0], to: ReplyPosition(text: 0, toolCalls: 9), &encoder, &buffer)
            append(token(#""content":"a""#), to: ReplyPosition(text: 1, toolCalls: 9), &encoder, &buffer)
            append(lines[1], to: ReplyPosition(text: 2, toolCalls: 19), &encoder, &buffer)
        }
        let ids = events.split(separator: "\n").filter { $0.hasPrefix("id: ") }
        #expect(ids == ["id: 0.0.9", "id: 1.0.9", "id: 2.0.9", "id: 2.0.19"])
    }

    @Test func callsOfTheLastLineComeBeforeIt() {
        let message = #""message":{"role":"assistant","content":"ok","# + Self.calls + "}"
        let last = #"{"model":"u","created_at":"t",\#(message),"done":true,"eval_count":7}"#
        let start = #"{"model":"u","created_at":"t","message":{"role":"assistant","content":"#
        var position = ReplyPosition(text: 2, toolCalls: 9)
        // As a running reply gives it.
        position.isEnd = true
        #expect(
            written { end(last, at: position, &$0, &$1) }
                == "id: 2\ndata: \(start)\"ok\",\"tool_calls\":[]},\"done\":false}\n\n"
                + "id: 2.0.9\nevent: tool_calls\ndata: \(start)\"\",\(Self.calls)},\"done\":false}\n\n"
                + "id: 2.0.9-end\ndata: \(start)\"\",\"tool_calls\":[]},\"done\":true,\"eval_count\":7}\n\n")
        // A stored end has no calls any more, and an error has none.
        let empty = last.replacing(Self.calls, with: #""tool_calls":[]"#)
        #expect(written { end(empty, &$0, &$1) } == "id: 3-end\ndata: \(empty)\n\n")
        #expect(written { end(last, state: .failed, &$0, &$1) } == "id: 3-end\nevent: error\ndata: \(last)\n\n")
    }

    @Test func callsOfARestartedAnswerBeginAnew() {
        let line = token(#""content":"","# + Self.calls)
        let events = written { encoder, buffer in
            append(line, to: ReplyPosition(toolCalls: 9), &encoder, &buffer)
            #expect(encoder.reset(to: ReplyPosition(attempt: 2), at: 0, to: &buffer))
            append(line, to: ReplyPosition(attempt: 2, toolCalls: 9), &encoder, &buffer)
        }
        #expect(events.hasSuffix("id: 2~0.0.9\nevent: tool_calls\ndata: \(line)\n\n"))
    }

    // MARK: - The place

    private func stream(_ pieces: [String], last: String = "", state: ReplyState = .complete) -> String {
        written(.location) { encoder, buffer in
            var position = ReplyPosition()
            for piece in pieces {
                position.text += piece.utf8.count
                append(token("\"content\":\"\(piece)\""), to: position, &encoder, &buffer)
            }
            end(
                #"{"message":{"content":"\#(last)"},"done":true}"#, state: state, at: position, &encoder, &buffer)
        }
    }

    private func place(_ events: String) -> String? {
        let mark = "event: latlon\ndata: "
        guard let range = events.firstRange(of: mark) else { return nil }
        return String(events[range.upperBound...].prefix { $0 != "\n" })
    }

    @Test func placeComesAfterTheLastLine() {
        let events = stream(["You won. WINNER!!!:42.2936:-83.7166: Bye"])
        #expect(
            events.hasSuffix(
                "\"done\":true}\n\nevent: latlon\ndata: {\"lat\": 42.2936, \"lon\": -83.7166}\n\n"))
    }

    @Test func placeIsFoundInPieces() {
        let text = Array("a W WINWINNER!!!:-1.5: 20 :")
        for size in 1...text.count {
            let pieces = stride(from: 0, to: text.count, by: size).map {
                String(text[$0..<min($0 + size, text.count)])
            }
            #expect(place(stream(pieces)) == #"{"lat": -1.5, "lon": 20}"#, "pieces of \(size)")
            #expect(place(stream(pieces.dropLast(), last: pieces.last ?? "")) == #"{"lat": -1.5, "lon": 20}"#)
        }
    }

    @Test(arguments: [
        "WINNER", "WINNER!!!:", "WINNER!!!:1", "WINNER!!!:1:", "WINNER!!!:1:2", "WINNER!!:1:2:", "winner!!!:1:2:",
        "WINNER!!!::2:", "WINNER!!!:1::", "WINNER!!!:a:2:", "WINNER!!!:1:2b:", "WINNER!!!:90.01:2:",
        "WINNER!!!:-90.01:2:", "WINNER!!!:1:180.5:", "WINNER!!!:1:-181:", "WINNER!!!:1e1:2:", "WINNER!!!:01:2:",
        "WINNER!!!:.5:2:", "WINNER!!!:1.:2:", "WINNER!!!:--1:2:", "WINNER!!!:1 1:2:", "WINNER!!!:+1:2:",
        "WINNER!!!:\u{661}:2:", "WINNER!!!:1.\(String(repeating: "0", count: 70)):2:", "WINNER!!!:nan:inf:",
    ])
    func wrongPlaceHasNoEvent(_ text: String) {
        #expect(place(stream([text])) == nil)
        // A right one after it counts.
        #expect(place(stream([text, " WINNER!!!:90:-180:"])) == #"{"lat": 90, "lon": -180}"#)
    }

    @Test func firstPlaceCountsOnce() {
        let events = stream(["WINNER!!!:1:2:WINNER!!!:3:4:"])
        #expect(place(events) == #"{"lat": 1, "lon": 2}"#)
        #expect(events.ranges(of: "latlon").count == 1)
    }

    @Test(arguments: [ReplyState.cancelled, .failed, .interrupted])
    func answerThatIsNotCompleteHasNoPlace(_ state: ReplyState) {
        #expect(place(stream(["WINNER!!!:1:2:"], state: state)) == nil)
    }

    @Test func restartedAnswerHasThePlaceOfItsOwnText() {
        let events = written(.location) { encoder, buffer in
            append(token(#""content":"WINNER!!!:1:2:""#), to: ReplyPosition(text: 14), &encoder, &buffer)
            #expect(encoder.reset(to: ReplyPosition(attempt: 2), at: 0, to: &buffer))
            end(#"{"message":{"content":"no"},"done":true}"#, &encoder, &buffer)
        }
        #expect(place(events) == nil)
    }

    @Test func otherReadersOfAReplyGetNoPlace() {
        var encoder = ChatterdAnswers(showsQueue: false).makeEncoder(context())
        let events = text { buffer in
            append(token(#""content":"WINNER!!!:1:2:""#), to: ReplyPosition(text: 14), &encoder, &buffer)
            end(#"{"message":{"content":""},"done":true}"#, &encoder, &buffer)
        }
        #expect(place(events) == nil)
    }
}
