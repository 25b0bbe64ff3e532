/// A behaviour of the built-in model, chosen by the end of the model's name: `echo:slow` is `slow`.
///
/// App developers try their handling of answers and errors with these, without a model server: docs/echo.md.
public enum EchoVariant: String, Sendable, CaseIterable {
    /// Repeats the prompt.
    case plain = ""
    /// Answers with a long pause before each word.
    case slow
    /// Thinks before it answers.
    case thinking
    /// Calls a tool, and answers with its result.
    case tool
    /// Counts to a large number.
    case long
    /// Answers in Markdown with each usual element.
    case markdown
    /// Completes an answer without text.
    case empty
    /// Fails before the first word.
    case error
    /// Refuses the request. A repetition of it would fail too.
    case refuse
    /// Is busy, and states when to try again.
    case busy
    /// Finds the conversation too long for its context.
    case context
    /// Breaks off in the middle of its answer.
    case cut
    /// Falls silent in the middle of its answer, and fails after a minute.
    case stall

    /// Selects the variant by the text after the last colon of a model's name. Other names select `plain`.
    init(model name: String) {
        guard let colon = name.lastIndex(of: ":") else {
            self = .plain
            return
        }
        self = Self(rawValue: String(name[name.index(after: colon)...])) ?? .plain
    }

    /// The name of the model with this behaviour.
    public var modelName: String { self == .plain ? "echo" : "echo:\(rawValue)" }
}
