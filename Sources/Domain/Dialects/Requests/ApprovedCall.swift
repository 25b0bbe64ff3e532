import ChatterdBasics

/// A call of a tool of a server that a request approves.
struct ApprovedCall: Sendable {
    /// The id of the item that asks for the approval.
    let id: String
    /// The call as a model makes it, with that id; `nil` until the reply with it is read.
    var json: [UInt8]?

    /// What the model reads as the result of the call that the model has made.
    static let approval = "A person has approved this call. It is made now."
    static let refusal = "A person has refused this call."

    /// The call of a function as JSON, with the id of the item that asks for its approval.
    static func json(_ id: String, name: String, arguments: [UInt8]) -> [UInt8] {
        var json = ByteBuffer()
        json.appendJSON { json in
            json.object { json in
                json.member("id", id)
                json.object("function") { json in
                    json.member("name", name)
                    json.member("arguments", raw: arguments.span)
                }
            }
        }
        return json.array
    }
}
