import ChatterdBasics
import ChatterdChat

/// The answer of a model server that no client sees until the operator's hooks have. Confined to its shard.
final class HeldAnswer {
    /// The copies of an answer: here, in the message to the hooks, and in the reply.
    private static let copies = 3

    private let hooks: any HookRunner
    private let memory: MemoryReservation
    private(set) var text: [UInt8] = []
    private(set) var thinking: [UInt8] = []
    private(set) var toolCalls: [[UInt8]] = []
    private var callsSize = 0
    private var cancelQuestion: (() -> Void)?
    private var continuation: CheckedContinuation<Result<[UInt8]?, RelayError>, Never>?

    /// Creates an empty answer; `nil` if no hook sees the answers of the app.
    init?(of app: String, hooks: (any HookRunner)?) {
        guard let hooks, hooks.reviewsAnswers(of: app) else { return nil }
        self.hooks = hooks
        memory = hooks.memory.charge(0)
    }

    /// The bytes of text, thoughts and calls.
    private var size: Int { text.count + thinking.count + callsSize }

    /// Takes what the lines say.
    ///
    /// - Returns: `overloaded` if there is no memory for it.
    func take(_ lines: LineRun) -> RelayError? {
        guard memory.grow(to: Self.copies * (size + lines.answerSize), for: .output) else {
            return RelayError(overloading: hooks.memory)
        }
        for index in 0..<lines.count {
            let (line, fields) = (lines.line(at: index), lines.fields(at: index))
            if let content = fields.content { text += Self.text(content, in: line) }
            if let thoughts = fields.thinking { thinking += Self.text(thoughts, in: line) }
            if let calls = fields.toolCalls { take(calls: line.extracting(calls)) }
        }
        return nil
    }

    /// Takes calls of tools: a JSON array.
    func take(calls: Span<UInt8>) {
        toolCalls.append(calls.array)
        callsSize += calls.count
    }

    /// The last line of an answer without the members in which a server may repeat the text.
    static func withoutText(_ line: [UInt8]) -> [UInt8] {
        var result = ByteBuffer(capacity: line.count)
        result.appendJSON { json in
            json.object { json in
                JSONMembers.forEach(of: line.span) { reader, key, value in
                    guard !reader.matches(key, "logprobs"), !reader.matches(key, "response"),
                        !reader.matches(key, "context")
                    else { return }
                    json.member(String(decodingJSON: line.span.extracting(key.range)), raw: line.span.extracting(value))
                }
            }
        }
        return result.array
    }

    /// Forgets an answer that has failed, or that the reply has now.
    func clear() {
        (text, thinking, toolCalls, callsSize) = ([], [], [], 0)
        memory.shrink(to: 0)
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
