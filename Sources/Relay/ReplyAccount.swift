import Bytes
import LanguageModels

/// What is kept of how a reply came about: what the model was sent, and which model server made which part.
public struct ReplyAccount: Sendable, Equatable {
    /// A part of the text, and who made it.
    public struct Part: Sendable, Equatable {
        /// The name of the model server.
        public var upstream: String
        /// The model's name there.
        public var model: String
        /// The bytes of the text, in UTF-8.
        public var text: Range<Int>
    }

    /// Who made which part of the text, in order.
    public var parts: [Part] = []
    /// What the model was sent, the last time that one was asked.
    public var receipt: ReplyReceipt?

    /// Makes an empty account.
    public init() {}
}

/// What of its conversation a model was sent for a reply.
public struct ReplyReceipt: Sendable, Equatable {
    /// Why a message was not sent.
    public enum Omission: String, Sendable, CaseIterable {
        /// It would not have fitted into the model's context.
        case context
        /// Its turn did not come to a good end.
        case notComplete = "not_complete"
        /// It is on another branch.
        case branch
    }

    /// The places (`seq`) of the messages that were sent.
    public var sent: [ClosedRange<Int64>] = []
    /// The places of those that were not, and why.
    public var omitted: [(places: ClosedRange<Int64>, why: Omission)] = []
    /// The number of messages that were sent.
    public var messages = 0
    /// The tokens that they were estimated at.
    public var estimatedTokens: Int?
    /// The tokens that the model takes, where that is known.
    public var contextLength: Int?
    /// The tokens that the server says it was given.
    public var promptTokens: Int?
    /// Whether the server seems to have cut the messages by itself.
    public var isCutByServer = false

    /// Makes an empty receipt.
    public init() {}

    public static func == (one: ReplyReceipt, other: ReplyReceipt) -> Bool {
        one.sent == other.sent
            && one.omitted.elementsEqual(other.omitted) { $0.places == $1.places && $0.why == $1.why }
            && one.messages == other.messages && one.estimatedTokens == other.estimatedTokens
            && one.contextLength == other.contextLength && one.promptTokens == other.promptTokens
            && one.isCutByServer == other.isCutByServer
    }
}

extension ByteBuffer {
    /// Appends an account as members of a JSON object, without braces: `"parts":[…],"receipt":{…}`.
    public mutating func append(_ account: ReplyAccount) {}
}
