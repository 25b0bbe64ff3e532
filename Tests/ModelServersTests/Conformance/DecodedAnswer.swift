import ChatterdBasics
import ChatterdHTTP
import ChatterdTestSupport

@testable import ChatterdChat
@testable import ChatterdDialects
@testable import ChatterdModelServers

/// The lines and the error that a decoder delivers for a body in pieces.
struct DecodedAnswer: Equatable {
    /// The answer as a consumer would have received it.
    var answer: Answer { Answer(lines: lines, ends: [error]) }

    private(set) var lines: [String] = []
    private(set) var error: ModelError?
    /// The lines of the longest run.
    private(set) var longestRun = 0

    static func == (one: Self, other: Self) -> Bool { one.lines == other.lines && one.error == other.error }

    /// Reads the pieces, and the end of the body after them.
    init(_ pieces: [[UInt8]], of kind: UpstreamDescription.Kind) throws {
        let decoder = try dialect(of: kind).makeDecoder(model: "tiny", limits: GenerationLimits(), now: { 0 })
        var lines: [String] = []
        var longestRun = 0
        var isDone = false
        let deliver = { (run: LineRun) -> Bool in
            for index in 0..<run.count {
                let line = run.line(at: index)
                let text = line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
                let read = try? AnswerLine(line)
                lines.append(read == run.fields(at: index) ? text : "the fields are wrong: \(text)")
            }
            longestRun = max(longestRun, run.count)
            isDone = run.isDone
            return !isDone
        }
        do throws(ModelError) {
            for piece in pieces where !isDone {
                _ = try decoder.read(piece.span, deliver)
            }
            if !isDone { try decoder.finish(deliver) }
        } catch {
            self.error = error
        }
        self.lines = lines
        self.longestRun = longestRun
    }
}

private func dialect(of kind: UpstreamDescription.Kind) throws -> any ServerDialect {
    switch kind {
    case .ollama: return OllamaServer()
    case .openai: return OpenAIServer(isOpenAI: false)
    case .llamastack: return LlamaStackServer()
    case .echo: throw TestFailure("no dialect of the kind \(kind.rawValue)")
    }
}
