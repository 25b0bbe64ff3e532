import ChatterdBasics
import ChatterdChat

/// The answer of a model server that no client sees until the operator's hooks have. Confined to its shard.
final class HeldAnswer {
    private let hooks: any HookRunner
    private(set) var text: [UInt8] = []
    private(set) var thinking: [UInt8] = []
    private(set) var toolCalls: [[UInt8]] = []
    private var cancelQuestion: (() -> Void)?
    private var continuation: CheckedContinuation<Result<[UInt8]?, RelayError>, Never>?

    /// Creates an empty answer; `nil` if no hook sees the answers of the app.
    init?(of app: String, hooks: (any HookRunner)?) {
        guard let hooks, hooks.reviewsAnswers(of: app) else { return nil }
        self.hooks = hooks
    }

    /// Takes what the lines say.
    func take(_ lines: LineRun) {
        for index in 0..<lines.count {
            let (line, fields) = (lines.line(at: index), lines.fields(at: index))
            if let content = fields.content { text += Self.text(content, in: line) }
            if let thoughts = fields.thinking { thinking += Self.text(thoughts, in: line) }
            if let calls = fields.toolCalls { toolCalls.append(line.extracting(calls).array) }
        }
    }

    /// Forgets an answer that has failed, or that the reply has now.
    func clear() {
        (text, thinking, toolCalls) = ([], [], [])
    }

    /// Asks the hooks.
    ///
    /// - Returns: the text in place of the answer; `nil` for the answer as it is.
    /// - Throws: `answerRefused`, `hookFailed`; `cancelled` after `cancel`.
    func review(as answer: ReviewedAnswer) async throws(RelayError) -> [UInt8]? {
        let result = await withCheckedContinuation { continuation in
            self.continuation = continuation
            cancelQuestion = hooks.review(answer) { [weak self] in self?.end($0) }
        }
        return try result.get()
    }

    /// Ends the question.
    func cancel() {
        cancelQuestion?()
        end(.failure(RelayError(.cancelled, "The answer was stopped.")))
    }

    private func end(_ result: Result<[UInt8]?, RelayError>) {
        cancelQuestion = nil
        continuation.take()?.resume(returning: result)
    }

    private static func text(_ string: JSONString, in line: Span<UInt8>) -> [UInt8] {
        let inside = line.extracting(string.range)
        return string.hasEscapes ? Array(String(decodingJSON: inside).utf8) : inside.array
    }
}
