/// The report on a prompt: which messages of the conversation were sent to the model, and their size.
public struct PromptReport: Sendable, Equatable {
    /// The reason why a message was not sent.
    public enum Omission: String, Sendable, CaseIterable {
        /// The message did not fit into the model's context.
        case context
        /// The turn of the message is not complete.
        case notComplete = "not_complete"
        /// The message is on another branch.
        case branch
    }

    /// Adjacent messages that were not sent for the same reason.
    public struct Omitted: Sendable, Equatable {
        /// Their numbers (`seq`).
        public var numbers: ClosedRange<Int64>
        /// The reason.
        public var why: Omission

        /// Creates a range of omitted messages.
        public init(numbers: ClosedRange<Int64>, why: Omission) {
            self.numbers = numbers
            self.why = why
        }
    }

    /// The numbers (`seq`) of the sent messages.
    public var sent: [ClosedRange<Int64>] = []
    /// The omitted messages.
    public var omitted: [Omitted] = []
    /// Whether the two lists omit their first ranges because there are too many.
    public var isAbridged = false
    /// The number of sent messages.
    public var messages = 0
    /// The estimated tokens of the prompt.
    public var estimatedTokens: Int?
    /// The size of the model's context in tokens; `nil` if unknown.
    public var contextLength: Int?
    /// The tokens of the prompt as counted by the server; `nil` if it gave no count.
    public var promptTokens: Int?
    /// Whether the server seems to have cut the messages by itself.
    public var isCutByServer = false
    /// The size of the prompt, from which its tokens are estimated.
    var size = PromptSize()
    /// The size of the messages since the model's last answer, which no server can have in a cache.
    var newest = PromptSize()

    /// Creates an empty report.
    public init() {}
}

extension [ClosedRange<Int64>] {
    /// Appends a number that is greater than all others.
    mutating func append(number: Int64) {
        if let last = last, last.upperBound + 1 == number {
            self[count - 1] = last.lowerBound...number
        } else {
            append(number...number)
        }
    }
}

extension [PromptReport.Omitted] {
    /// Appends a number that is greater than all others.
    public mutating func append(number: Int64, why: PromptReport.Omission) {
        if let last = last, last.why == why, last.numbers.upperBound + 1 == number {
            self[count - 1].numbers = last.numbers.lowerBound...number
        } else {
            append(PromptReport.Omitted(numbers: number...number, why: why))
        }
    }
}
