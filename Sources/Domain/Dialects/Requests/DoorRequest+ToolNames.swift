import ChatterdBasics
import ChatterdChat
import ChatterdRelay

extension DoorRequest {
    /// Whether a result of a tool names only a call that is not in the request.
    public var hasNamelessResults: Bool { chat.messages.contains(where: \.isNamelessResult) }

    /// Adds the names of tools to results that name only calls of an earlier reply.
    ///
    /// - Parameter calls: the calls of the reply, as JSON objects with commas between them.
    public mutating func nameResults(by calls: [UInt8], of reply: ReplyID) {
        var names: [ExactText: String] = [:]
        let context = AnswerContext(reply: reply, model: "", createdAt: 0)
        var index = 0
        AnswerToolCall.forEach(of: calls.span) { call in
            var id = ByteBuffer()
            id.append(idOf: call, at: index, in: context)
            names[String(decodingJSON: id.bytes.extracting(1..<(id.count - 1)))] = String(decodingJSON: call.name)
            index += 1
        }
        for index in chat.messages.indices where chat.messages[index].isNamelessResult {
            guard let id = chat.messages[index].callID, let name = names[id] else { continue }
            var extras = ByteBuffer()
            extras.append("\"tool_name\":")
            extras.append(jsonString: name)
            extras.append(",")
            extras.append(utf8: chat.messages[index].extras ?? "")
            chat.messages[index].extras = extras.string
        }
    }
}

extension ModelMessage {
    /// The call that the message is the result of; `nil` if it names none.
    fileprivate var callID: String? { members?["tool_call_id"]?.string }

    /// Whether the message is the result of a call, without the name of the tool.
    fileprivate var isNamelessResult: Bool { role == "tool" && callID != nil && members?["tool_name"] == nil }

    private var members: DoorMembers? {
        extras.flatMap { try? JSONSlice(Array("{\($0)}".utf8)).members() }
    }
}
