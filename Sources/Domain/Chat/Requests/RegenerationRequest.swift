import ChatterdBasics

/// A request of an app for another answer to the same prompt.
public struct RegenerationRequest: Sendable, Equatable {
    /// The model; `nil` for the model of the earlier answer.
    public var model: String?

    /// Whether the answer is streamed.
    public var stream = true

    /// The policy for a reply without readers; `nil` for the server's default.
    public var onDisconnect: DisconnectPolicy?

    /// The policy for a reply whose process dies; `nil` for the policy of the earlier answer.
    public var onInterrupt: InterruptPolicy?

    /// Whether queue positions are sent as events too; `nil` if the body does not have the member.
    public var queueEvents: Bool?

    /// Whether calls of tools of the server are sent as events; `nil` if the body does not have the member.
    public var stepEvents: Bool?

    /// Creates a request with the defaults.
    public init() {}

    /// Decodes a body, which may be empty; null counts as absent.
    ///
    /// Other members are rejected, because options would have no effect here.
    ///
    /// - Throws: the first problem that is found.
    public init(decoding body: Span<UInt8>) throws(ChatRequestError) {
        if body.isEmpty { return }
        if let offset = UTF8Repair.firstInvalid(in: body) {
            throw .notUTF8(at: offset)
        }
        let members: [(member: Member?, value: Range<Int>)]
        do {
            members = try Self.members(of: body)
        } catch {
            throw error.code == .wrongType ? .notAnObject : .notJSON(error)
        }
        for (member, value) in members {
            try read(member, body.extracting(value))
        }
    }

    private enum Member: String, CaseIterable {
        case model, stream
        case onDisconnect = "on_disconnect"
        case onInterrupt = "on_interrupt"
        case queueEvents = "queue_events"
        case stepEvents = "step_events"
    }

    private mutating func read(_ member: Member?, _ value: Span<UInt8>) throws(ChatRequestError) {
        let isNull = value[0] == UInt8(ascii: "n")
        switch member {
        case .model:
            model = isNull ? nil : try ChatRequestField("model", value).name(upTo: ModelName.maximumLength)
        case .stream:
            stream = isNull ? true : try ChatRequestField("stream", value).boolean()
        case .onDisconnect:
            onDisconnect = isNull ? nil : try ChatRequestField("on_disconnect", value).disconnectPolicy()
        case .onInterrupt:
            onInterrupt = isNull ? nil : try ChatRequestField("on_interrupt", value).interruptPolicy()
        case .queueEvents:
            queueEvents = isNull ? nil : try ChatRequestField("queue_events", value).boolean()
        case .stepEvents:
            stepEvents = isNull ? nil : try ChatRequestField("step_events", value).boolean()
        case nil:
            throw ChatRequestError(
                problem: .unknownMember, field: nil,
                message:
                    "The body may have model, stream, on_disconnect, on_interrupt, queue_events and step_events only.")
        }
    }

    private static func members(of body: Span<UInt8>) throws(JSONError) -> [(member: Member?, value: Range<Int>)] {
        var reader = JSONReader(body)
        var members: [(member: Member?, value: Range<Int>)] = []
        try reader.beginBody()
        while let key = try reader.nextKey() {
            let member = Member(word: String(nameInJSON: body.extracting(key.range)))
            let value = try reader.skipValue()
            // One unknown member is enough for the error, however many there are.
            if member != nil || members.last?.member != nil || members.isEmpty {
                members.append((member, value))
            }
        }
        try reader.finish()
        return members
    }
}
