import ChatterdBasics

/// The present state of a conversation, with which a feed begins.
public struct FeedState: Sendable {
    public var position: FeedPosition
    /// The name of the conversation.
    public var name: String
    public var title: String?
    public var isArchived: Bool
    /// The replies that are running.
    public var running: [ReplyID]

    public init(
        position: FeedPosition, name: String, title: String?, isArchived: Bool, running: [ReplyID]
    ) {
        self.position = position
        self.name = name
        self.title = title
        self.isArchived = isArchived
        self.running = running
    }

    /// The data of the event: one line of JSON.
    ///
    /// - Parameter reason: the reason why the reader begins again; `nil` if it begins.
    public func data(_ reason: FeedStep.Reason?) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                if let reason { json.member("reason", reason.rawValue) }
                json.member("conversation", name)
                FeedEvent.write(title: title, to: &json)
                json.member("archived", isArchived)
                json.member("last", Int(position.number))
                json.array("running") { json in
                    for id in running {
                        json.object { FeedEvent.write(id, to: &$0) }
                    }
                }
            }
        }
        return buffer
    }
}
