import ChatterdBasics
import ChatterdTestSupport

@testable import ChatterdChat
@testable import ChatterdDialects

/// The output of a decoder for a stream.
struct Decoded: Equatable {
    var lines: [String] = []
    var error: ModelError?
    /// Whether the answer was whole after the last read.
    var isWhole = false
    /// Whether the last read had more than comments.
    var hasProgressed = false

    /// The texts of all lines.
    var text: String { lines.compactMap { Array($0.utf8).member("content") }.joined() }
    var last: String { lines.last ?? "" }
    var isComplete: Bool { error == nil && last.contains(#""done":true"#) }
}

extension [UInt8] {
    /// A member of the message of a line, decoded.
    fileprivate func member(_ name: String) -> String? {
        guard let line = try? AnswerLine(span), let content = line.content else { return nil }
        return String(decodingJSON: span.extracting(content.range))
    }

    /// The output of the decoder of kind `openai` for the bytes, given in pieces, and their regular end.
    ///
    /// Each line must have the reported fields.
    static func decode(
        _ pieces: [[UInt8]], limits: GenerationLimits = GenerationLimits(), ends: Bool = true, at time: Int64 = 0
    ) -> Decoded {
        var decoded = Decoded()
        let decoder = OpenAIDecoder(model: "tiny", limits: limits, now: { time })
        let take = { (run: LineRun) -> Bool in
            for index in 0..<run.count {
                let line = run.line(at: index)
                let text = line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
                let read = try? AnswerLine(line)
                decoded.lines.append(read == run.fields(at: index) ? text : "the fields are wrong: \(text)")
            }
            return !run.isDone
        }
        do throws(ModelError) {
            for piece in pieces where decoded.lines.last?.contains(#""done":true"#) != true {
                decoded.hasProgressed = try decoder.read(piece.span, take)
                decoded.isWhole = decoder.isWhole
            }
            if ends { try decoder.finish(take) }
        } catch {
            decoded.error = error
        }
        return decoded
    }

    static func decode(_ text: String, ends: Bool = true) -> Decoded {
        decode([Array(text.utf8)], ends: ends)
    }
}

/// The expected line of text.
func textLine(_ text: String) -> String {
    #"{"model":"tiny","created_at":"1970-01-01T00:00:00.000000Z","message":{"role":"assistant","content":\#(jsonString(text))},"done":false}"#
}

/// The expected last line.
func lastLine(_ members: String = #","prompt_eval_count":18,"eval_count":13"#, reason: String = "stop") -> String {
    #"{"model":"tiny","created_at":"1970-01-01T00:00:00.000000Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"\#(reason)","total_duration":0\#(members)}"#
}
