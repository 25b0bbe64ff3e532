import ChatterdBasics
import ChatterdChat
import ChatterdCryptography
import ChatterdHTTP
import ChatterdHTTPClient
import ChatterdIdentity
import ChatterdRelay

/// A message to a hook: the fields and the body of a webhook of the specification Standard Webhooks.
public struct HookMessage: Sendable {
    /// Names the message. A repetition has the same id.
    public let id: String
    /// Seconds since 1970, when it is sent.
    let timestamp: Int64
    let body: [UInt8]

    private init(
        _ type: String, id: String, at nanoseconds: Int64, of event: Int64? = nil,
        in conversation: ConversationKey,
        _ members: (inout JSONWriter) -> Void
    ) {
        self.id = id
        timestamp = nanoseconds / 1_000_000_000
        var time = ByteBuffer()
        time.append(rfc3339: event ?? nanoseconds)
        var body = ByteBuffer()
        body.appendJSON { json in
            json.object { json in
                json.member("type", type)
                json.member("timestamp", time.string)
                json.object("data") { json in
                    json.member("app", conversation.owner.app)
                    json.member("person", conversation.owner.person)
                    if !conversation.isStateless { json.member("conversation", conversation.name) }
                    members(&json)
                }
            }
        }
        self.body = body.array
    }

    /// What a prompt says: its messages, and what else of it the model reads.
    static func prompt(
        _ request: ChatRequest, in conversation: ConversationKey, id: String, at time: Int64
    ) -> HookMessage {
        HookMessage("prompt", id: id, at: time, in: conversation) { json in
            json.member("model", request.model)
            json.member("instructions", request.passThrough.instructions)
            json.array("messages") { json in
                for message in request.messages {
                    var text = ByteBuffer()
                    text.append(message)
                    json.raw(text.bytes)
                }
            }
            if let tools = request.passThrough.last(where: { $0.key == "tools" })?.value {
                json.member("tools", raw: tools.span)
            }
        }
    }

    /// The answer of a model.
    static func answer(_ answer: ReviewedAnswer, id: String, at time: Int64) -> HookMessage {
        HookMessage("answer", id: id, at: time, in: answer.conversation) { json in
            json.member("id", "\(answer.reply)")
            json.member("model", answer.model)
            json.name("content")
            json.string(answer.text.span)
            if !answer.thinking.isEmpty {
                json.name("thinking")
                json.string(answer.thinking.span)
            }
            if !answer.toolCalls.isEmpty {
                let calls = answer.toolCalls.map { $0.dropFirst().dropLast() }.joined(separator: ",".utf8)
                json.member("tool_calls", raw: (Array("[".utf8) + calls + Array("]".utf8)).span)
            }
        }
    }

    /// The end of a reply.
    ///
    /// - Parameters:
    ///   - state: `nil` members of a reply whose row is gone are left out.
    ///   - endedAt: nanoseconds since 1970.
    ///   - error: the code of the error with which it has ended.
    public static func end(
        of reply: ReplyID, in conversation: ConversationKey, state: String, model: String?, error: String?,
        text: [UInt8]?, endedAt: Int64? = nil, id: String, at time: Int64
    ) -> HookMessage {
        HookMessage("end", id: id, at: time, of: endedAt, in: conversation) { json in
            json.member("id", "\(reply)")
            json.member("state", state)
            json.member("model", model)
            json.member("code", error)
            if let text {
                json.name("content")
                json.string(text.span)
            }
        }
    }

    /// The request to a hook.
    func request(to hook: Hook) -> OutgoingRequest {
        var fields = hook.fields
        fields.add(.contentType, "application/json")
        fields.add(.webhookID, FieldValue(number: id))
        fields.add(.webhookTimestamp, FieldValue(number: "\(timestamp)"))
        if let key = hook.key {
            let signature = Self.signature(of: body, id: id, timestamp: timestamp, with: key)
            fields.add(.webhookSignature, FieldValue(number: signature))
        }
        return OutgoingRequest(.post, hook.path, fields: fields, body: body)
    }

    /// The signature of a message, in version 1 of the specification.
    static func signature(of body: [UInt8], id: String, timestamp: Int64, with key: AuthenticationKey) -> String {
        var signature = ByteBuffer()
        signature.append("v1,")
        signature.append(base64: key.code(of: Array("\(id).\(timestamp).".utf8) + body).span)
        return signature.string
    }
}

extension FieldValue {
    /// A value of letters, digits and punctuation.
    fileprivate init(number text: String) {
        self = FieldValue(validating: text) ?? ""
    }
}

extension FieldName {
    fileprivate static let webhookID = FieldName(lowercase: "webhook-id")
    fileprivate static let webhookTimestamp = FieldName(lowercase: "webhook-timestamp")
    fileprivate static let webhookSignature = FieldName(lowercase: "webhook-signature")
}
