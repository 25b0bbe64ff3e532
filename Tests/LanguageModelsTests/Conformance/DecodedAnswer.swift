import ChatterdBasics
import ChatterdHTTP
import ChatterdTestSupport

@testable import ChatterdLanguageModels
@testable import ChatterdModelServers

/// What a decoder makes of the body of an answer that arrives in pieces.
struct DecodedAnswer: Equatable {
    /// What the consumer would have heard.
    var answer: Answer { Answer(lines: lines, ends: [error]) }

    private(set) var lines: [String] = []
    private(set) var error: ModelError?

    /// Reads the pieces, and the end of the body after them.
    init(_ pieces: [[UInt8]], of kind: UpstreamDescription.Kind) throws {
        let decoder = try dialect(of: kind).makeDecoder(model: "tiny", limits: GenerationLimits(), now: { 0 })
        var lines: [String] = []
        var isDone = false
        let take = { (line: Span<UInt8>, fields: AnswerLine) -> Bool in
            lines.append(line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
            isDone = fields.isDone
            return !isDone
        }
        do throws(ModelError) {
            for piece in pieces where !isDone {
                _ = try decoder.read(piece.span, take)
            }
            if !isDone { try decoder.finish(take) }
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
