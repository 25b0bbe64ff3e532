import ChatterdBasics
import ChatterdChat
import ChatterdRelay

extension DoorRequest {
    /// Whether a result of a tool names only a call that is not in the request.
    public var hasNamelessResults: Bool { chat.messages.contains(where: \.isNamelessResult) }

    /// Whether a message answers a call that waited for an approval.
    public var hasApprovals: Bool {
        chat.messages.contains { $0.role == "tool" && $0.callID?.utf8.starts(with: "mcpr_".utf8) == true }
    }

    /// Adds the names of tools to results that name only calls of an earlier reply, and finds the calls that the request approves.
    ///
    /// - Parameter calls: the calls of the reply, as JSON objects with commas between them.
    public mutating func nameResults(by calls: [UInt8], of reply: ReplyID) {
        var names: [ExactText: (id: String, name: String)] = [:]
        var asked: [ExactText: [UInt8]] = [:]
        let context = AnswerContext(reply: reply, model: "", createdAt: 0)
        var index = 0
        AnswerToolCall.forEach(of: calls.span) { call in
            var text = ByteBuffer()
            text.append(idOf: call, at: index, in: context)
            let id = String(decodingJSON: text.bytes.extracting(1..<(text.count - 1)))
            let name = String(decodingJSON: call.name)
            names[id] = (id, name)
            let item = ResponseOutput.Item.approvalRequest(index).id(in: reply)
            names[item] = (id, name)
            let arguments = (try? JSONSlice(call.arguments.array)).flatMap { ToolArguments.object(of: $0) }
            asked[item] = ApprovedCall.json(item, name: name, arguments: arguments ?? Array("{}".utf8))
            index += 1
        }
        for index in chat.messages.indices {
            let message = chat.messages[index]
            guard message.role == "tool", let id = message.callID, let call = names[id] else { continue }
            let isApproval = ExactText(call.id) != ExactText(id)
            guard isApproval || message.isNamelessResult else { continue }
            var extras = ByteBuffer()
            extras.append("\"tool_name\":")
            extras.append(jsonString: call.name)
            extras.append(",")
            if isApproval {
                extras.append("\"tool_call_id\":")
                extras.append(jsonString: call.id)
            } else {
                extras.append(utf8: message.extras ?? "")
            }
            chat.messages[index].extras = extras.string
        }
        for index in approved.indices { approved[index].json = asked[approved[index].id] ?? approved[index].json }
    }

    /// Stores the calls that the request approves, so that they run before the model is asked.
    ///
    /// - Throws: `invalidRequest` if the request does not have a call, or does not name the server of its tool.
    public mutating func approveCalls() throws(RelayError) {
        guard !approved.isEmpty else { return }
        var calls: [[UInt8]] = []
        let offered = Set(chat.passThrough.residentTools.map { ExactText($0) })
        for call in approved {
            guard let json = call.json, let made = (try? JSONSlice(json)).flatMap({ AnswerSteps.Call($0) }) else {
                throw .invalid(
                    "input: there is no mcp_approval_request \(call.id): send it too, or previous_response_id.", "input"
                )
            }
            guard offered.contains(ExactText(made.name)) else {
                throw .invalid("tools: name the server of the approved call \(call.id) here, too.", "tools")
            }
            calls.append(json)
        }
        chat.passThrough.append(RawMember(approved: calls))
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
