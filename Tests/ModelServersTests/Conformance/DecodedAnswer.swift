import ChatterdBasics
import ChatterdHTTP
import ChatterdTestSupport

@testable import ChatterdLanguageModels
@testable import ChatterdModelServers

/// The lines and the error that a decoder delivers for a body in pieces.
struct DecodedAnswer: Equatable {
    /// The answer as a consumer would have received it.
    var answer: Answer { Answer(lines: lines, ends: [error]) }

    private(set) var lines: [String] = []
    private(set) var error: ModelError?

    /// Reads the pieces, and the end of the body after them.
    init(_ pieces: [[UInt8]], of kind: UpstreamDescription.Kind) throws {
        let decoder = try dialect(of: kind).makeDecoder(model: "tiny", limits: GenerationLimits(), now: { 0 })
        var lines: [String] = []
        var isDone = false
        let deliver = { (line: Span<UInt8>, fields: AnswerLine) -> Bool in
            lines.append(line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
            isDone = fields.isDone
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
    }
}

private func dialect(of kind: UpstreamDescription.Kind) throws -> any Dialect {
    switch kind {
    case .ollama: return OllamaDialect()
    case .openai: return OpenAIDialect(isOpenAI: false)
    case .llamastack: return LlamaStackDialect()
    case .echo: throw TestFailure("no dialect of the kind \(kind.rawValue)")
    }
}
