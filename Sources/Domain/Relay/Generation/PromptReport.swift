/// The report on a prompt: which messages of the conversation were sent to the model, and their size.
public struct PromptReport: Sendable, Equatable {
    /// The reason why a message was not sent.
    public enum Omission: String, Sendable, CaseIterable {
        /// The message did not fit into the model's context.
        case context
        /// The turn of the message is running, or ended without an answer.
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
    /// The size of the sent messages since the model's last answer, which no server can have in a cache.
    var newest = PromptSize()

    /// The maximum number of listed ranges of each kind, because a report is stored with each reply.
    public static let listed = 50

    /// Creates an empty report.
    public init() {}

    /// Lists which messages were sent and which were not.
    mutating func list(_ sent: [ClosedRange<Int64>], omitted: [Omitted]) {
        isAbridged = sent.count > Self.listed || omitted.count > Self.listed
        self.sent = sent.suffix(Self.listed)
        self.omitted = omitted.suffix(Self.listed)
    }
}

extension [PromptReport.Omitted] {
    /// Appends a number that is greater than all others.
    public mutating func append(number: Int64, why: PromptReport.Omission) {
        append(PromptReport.Omitted(numbers: number...number, why: why))
    }

    /// Appends a range behind all others. Adjacent ranges with the same reason become one.
    public mutating func append(_ range: PromptReport.Omitted) {
        if let last = last, last.why == range.why, last.numbers.upperBound + 1 == range.numbers.lowerBound {
            self[count - 1].numbers = last.numbers.lowerBound...range.numbers.upperBound
        } else {
            append(contentsOf: CollectionOfOne(range))
        }
    }
}
