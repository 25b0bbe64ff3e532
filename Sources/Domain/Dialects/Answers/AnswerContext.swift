import ChatterdBasics
import ChatterdRelay

/// What the answers of a door say about their request.
public struct AnswerContext: Sendable {
    /// The reply.
    public var reply: ReplyID
    /// The requested model.
    public var model: String
    /// The time of the request, in nanoseconds since 1970.
    public var createdAt: Int64
    /// Whether a stream ends with the counts of tokens, if the door lets the client choose.
    public var includesUsage: Bool
    /// The estimated tokens of the prompt, for a form that shows them before the model server has counted them; 0 for none.
    public var estimatedTokens = 0
    /// What was kept with the request, as a JSON object; `nil` if nothing was.
    public var kept: [UInt8]?
    /// The servers of tools that the request names.
    public var servers = ResponseServers()
    /// The number of the attempt with which a stream begins.
    public var attempt = 1
    /// The number of the last event that the client has; `nil` for a stream from its beginning.
    public var lastEvent: Int?
    /// Whether the client has a piece of the answer, of this attempt, from an earlier stream.
    public var hasContent: Bool { lastEvent.flatMap(ResponseEventNumber.attempt) != nil }

    public init(reply: ReplyID, model: String, createdAt: Int64, includesUsage: Bool = false) {
        self.reply = reply
        self.model = model
        self.createdAt = createdAt
        self.includesUsage = includesUsage
    }

    /// The time of the request, in seconds since 1970.
    var seconds: Int { Int(createdAt / 1_000_000_000) }

    /// `created_at` of what was kept with the request; `nil` if nothing was.
    var keptSeconds: Int? {
        var seconds: Int?
        guard let kept else { return nil }
        JSONMembers.forEach(of: kept.span) { reader, key, value in
            guard reader.matches(key, "created_at") else { return }
            var number = JSONReader(kept.span.extracting(value))
            seconds = try? number.integer()
        }
        return seconds
    }
}
