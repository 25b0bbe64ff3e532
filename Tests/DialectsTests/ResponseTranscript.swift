import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import Foundation
import Testing

@testable import ChatterdDialects

/// The stream of a response for lines of an answer, of which the last one ends it.
struct ResponseTranscript {
    /// The bytes of the stream.
    let text: String

    /// - Parameters:
    ///   - lastEvent: the last event that the client has.
    ///   - request: the body of the request.
    ///   - servers: the servers of tools that the request names.
    ///   - steps: the steps that come before the line with an index.
    ///   - delay: the nanoseconds from the request until its reply was stored.
    init(
        _ lines: [String], attempt: Int = 1, after lastEvent: Int? = nil,
        request: String = #"{"model":"m","input":"Hi"}"#, servers: ResponseServers = ResponseServers(),
        steps: [Int: AnswerSteps] = [:], storedAfter delay: Int64 = 0
    ) throws {
        var asked = try OpenResponses().request(Array(request.utf8))
        var context = context()
        context.kept = asked.keep(createdAt: context.seconds)
        context.createdAt += delay
        context.attempt = attempt
        context.lastEvent = lastEvent
        context.servers = servers
        var encoder = OpenResponses().makeEncoder(context)
        var position = ReplyPosition(attempt: attempt)
        self.text = try written { buffer in
            encoder.begin(to: &buffer)
            var known = KnownSteps()
            for (index, line) in lines.enumerated() {
                for change in steps[index].map({ known.take($0) }) ?? [] { encoder.append(change, to: &buffer) }
                guard index < lines.count - 1 else { break }
                let bytes = Array(line.utf8)
                let fields = try AnswerLine(bytes.span)
                position.text += size(bytes, fields.content)
                position.thinking += size(bytes, fields.thinking)
                encoder.append(PositionedLines(bytes.span, to: position), to: &buffer)
            }
            encoder.end(
                ReplyEnding(state: .complete, lastEvent: Array((lines.last ?? "").utf8)), at: ReplyPosition(),
                to: &buffer)
        }
    }

    /// The data of the events, without the end mark.
    var events: [String] { Self.events(in: text) }

    static func events(in text: String) -> [String] {
        text.components(separatedBy: "\n\n").compactMap { event in
            event.firstRange(of: "\ndata: ").map { String(event[$0.upperBound...]) }
        }
    }

    /// The number of an event.
    static func number(of event: String) -> Int {
        let digits = event.firstRange(of: "\"sequence_number\":").map { event[$0.upperBound...].prefix { $0.isNumber } }
        return digits.flatMap { Int($0) } ?? -1
    }
}

/// The size of the text of a JSON string in UTF-8.
private func size(_ line: [UInt8], _ string: JSONString?) -> Int {
    guard let string else { return 0 }
    return String(decodingJSON: line.span.extracting(string.range)).utf8.count
}

private func written(_ write: (inout ByteBuffer) throws -> Void) throws -> String {
    var buffer = ByteBuffer()
    try write(&buffer)
    return buffer.string
}
