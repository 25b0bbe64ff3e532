import ChatterdBasics
import ChatterdChat
import ChatterdModelServers
import Testing

/// An answer as its consumer received it, joined from its lines.
struct ReceivedAnswer: Sendable {
    /// A call of a function.
    struct Call: Equatable, Sendable {
        var id: String?
        var name: String
        /// The JSON text, without white space.
        var arguments: String
    }

    var text = ""
    var thinking = ""
    var calls: [Call] = []
    /// `done_reason` of the last line.
    var reason: String?
    /// `finish_reason` of the last line, for reasons without an equivalent in Ollama.
    var finishReason: String?
    var promptTokens: Int?
    var answerTokens: Int?
    /// The error that ended it; `nil` for a regular end.
    var code: ModelError.Code?
    /// A part of the message of the error.
    var words = ""

    init() {}

    /// Joins the lines of an answer, and checks the rules that apply to every answer.
    init(_ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(answer.ends.count == 1, "one end, and only one", sourceLocation: sourceLocation)
        let error = answer.ends.first ?? nil
        code = error?.code
        words = error?.message ?? ""
        for (index, line) in answer.lines.enumerated() {
            let tree = try JSONTree(line)
            let isLast = index == answer.lines.count - 1
            let message = tree["message"]
            #expect(
                tree["model"]?.string != nil && tree["created_at"]?.string != nil, "\(line)",
                sourceLocation: sourceLocation)
            #expect(message?["role"]?.string == "assistant", "\(line)", sourceLocation: sourceLocation)
            #expect(message?["content"]?.string != nil, "\(line)", sourceLocation: sourceLocation)
            #expect(tree["done"] == .boolean(isLast && error == nil), "\(line)", sourceLocation: sourceLocation)
            #expect(!line.utf8.contains(0) && !line.contains("\\u0000"), "\(line)", sourceLocation: sourceLocation)
            #expect(!line.utf8.contains(10) && !line.utf8.contains(13), "\(line)", sourceLocation: sourceLocation)
            text += message?["content"]?.string ?? ""
            thinking += message?["thinking"]?.string ?? ""
            for call in message?["tool_calls"]?.elements ?? [] {
                append(call, sourceLocation)
            }
            guard isLast else { continue }
            reason = tree["done_reason"]?.string
            finishReason = tree["finish_reason"]?.string
            promptTokens = tree["prompt_eval_count"]?.integer
            answerTokens = tree["eval_count"]?.integer
        }
    }

    private mutating func append(_ call: JSONTree, _ sourceLocation: SourceLocation) {
        let function = call["function"]
        #expect(function?["index"]?.integer ?? 0 == calls.count, "\(call)", sourceLocation: sourceLocation)
        guard let name = function?["name"]?.string, let arguments = function?["arguments"] else {
            Issue.record("a call without name or arguments: \(call)", sourceLocation: sourceLocation)
            return
        }
        if case .object = arguments {
        } else {
            Issue.record("arguments that are no object: \(call)", sourceLocation: sourceLocation)
        }
        calls.append(Call(id: call["id"]?.string, name: name, arguments: arguments.description))
    }
}

/// Compares the received answer with the expected one, byte by byte.
func expect(_ received: ReceivedAnswer, is expected: ReceivedAnswer, sourceLocation: SourceLocation = #_sourceLocation)
{
    #expect(received.code == expected.code, "\(received.words)", sourceLocation: sourceLocation)
    #expect(received.words.contains(expected.words), "\(received.words)", sourceLocation: sourceLocation)
    // Compares bytes, because strings that look the same are equal.
    #expect(Array(received.text.utf8) == Array(expected.text.utf8), "\(received.text)", sourceLocation: sourceLocation)
    #expect(
        Array(received.thinking.utf8) == Array(expected.thinking.utf8), "\(received.thinking)",
        sourceLocation: sourceLocation)
    #expect(received.reason == expected.reason, sourceLocation: sourceLocation)
    #expect(received.finishReason == expected.finishReason, sourceLocation: sourceLocation)
    #expect(received.promptTokens == expected.promptTokens, sourceLocation: sourceLocation)
    #expect(received.answerTokens == expected.answerTokens, sourceLocation: sourceLocation)
    // A failed answer may have a part of the expected values.
    guard expected.code == nil else { return }
    #expect(received.calls.map(\.name) == expected.calls.map(\.name), sourceLocation: sourceLocation)
    #expect(received.calls.map(\.arguments) == expected.calls.map(\.arguments), sourceLocation: sourceLocation)
    for (call, other) in zip(received.calls, expected.calls) where other.id != nil {
        #expect(call.id == other.id, sourceLocation: sourceLocation)
    }
}
