import ChatterdChat

/// The steps of a reply at one moment, as readers get them: an object, which is compared by its identity.
public final class ReplySteps: Sendable {
    /// How the store names this content of the row; empty for steps from memory.
    public let version: String
    private let content: Content

    private enum Content {
        case steps(AnswerSteps)
        /// The further members of the message in the store. They are read only for a reader that follows steps.
        case stored([UInt8])
    }

    init(_ steps: AnswerSteps) {
        content = .steps(steps)
        version = ""
    }

    /// Creates the steps of a row; `nil` if its further members begin with something else.
    public init?(stored members: [UInt8], version: String) {
        guard AnswerSteps.begin(members.span) else { return nil }
        content = .stored(members)
        self.version = version
    }

    /// The size in the store, in bytes; 0 for steps from memory.
    public var size: Int { if case .stored(let members) = content { members.count } else { 0 } }

    /// The steps; those that cannot be read are none.
    public var steps: AnswerSteps {
        switch content {
        case .steps(let steps): steps
        case .stored(let members): AnswerSteps(in: members.span) ?? AnswerSteps()
        }
    }
}
