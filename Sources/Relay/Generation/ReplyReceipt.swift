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

    /// Neighbours that were not sent, and why.
    public struct Omitted: Sendable, Equatable {
        /// Their places (`seq`).
        public var places: ClosedRange<Int64>
        /// The reason, the same for all of them.
        public var why: Omission

        /// Makes a note.
        public init(places: ClosedRange<Int64>, why: Omission) {
            self.places = places
            self.why = why
        }
    }

    /// The places (`seq`) of the messages that were sent.
    public var sent: [ClosedRange<Int64>] = []
    /// The places of those that were not, and why.
    public var omitted: [Omitted] = []
    /// Whether there were so many that only the last of both are listed.
    public var isAbridged = false
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
    /// What was sent, in the terms that tokens are estimated in.
    var size = PromptSize()
    /// What of it is new since the model's last answer: no server can have that in a cache.
    var newest = PromptSize()

    /// Makes an empty receipt.
    public init() {}
}

extension [ClosedRange<Int64>] {
    /// Adds a place behind all others.
    mutating func append(place: Int64) {
        if let last = last, last.upperBound + 1 == place {
            self[count - 1] = last.lowerBound...place
        } else {
            append(place...place)
        }
    }
}

extension [ReplyReceipt.Omitted] {
    /// Adds a place behind all others.
    public mutating func append(place: Int64, why: ReplyReceipt.Omission) {
        if let last = last, last.why == why, last.places.upperBound + 1 == place {
            self[count - 1].places = last.places.lowerBound...place
        } else {
            append(ReplyReceipt.Omitted(places: place...place, why: why))
        }
    }
}
