import ChatterModels
import ChatterdBasics

/// A step of FoundationModels in an answer.
enum SystemStep: Sendable, Hashable {
    /// The whole text so far.
    case text(String)
    case toolCall(ToolCall)
}

/// The course of one message of `SystemLLM`: steps of FoundationModels become events.
struct SystemCourse: Sendable {
    private var text = ""
    private var hasCalls = false

    /// The events after a step. Each text is compared with the one before, so an answer costs the square of its length, which the
    /// context of the device's model limits to a few thousand tokens.
    mutating func events(after step: SystemStep) -> [GenerationEvent] {
        switch step {
        case .toolCall(let call):
            hasCalls = true
            return [.toolCall(call)]
        case .text(let now):
            let before = text.utf8
            defer { text = now }
            guard now.utf8.starts(with: before) else { return [.reset, .text(now)] }
            guard now.utf8.count > before.count else { return [] }
            return [.text(String(decoding: now.utf8.dropFirst(before.count), as: UTF8.self))]
        }
    }

    /// The last event. FoundationModels does not say whether the limit of tokens was reached.
    var end: GenerationEvent { .finished(GenerationEnd(reason: hasCalls ? .toolCalls : .stop, model: "system")) }
}
