import ChatterdBasics
import ChatterdHTTP

/// Anthropic's API: messages and models.
struct AnthropicDoor: DoorDialect {
    var endpoints: [DoorEndpoint] {
        [
            DoorEndpoint(.post, "/v1/messages", .ask(AnthropicMessages())),
            DoorEndpoint(.post, "/v1/messages/count_tokens", .count(AnthropicMessages(isCount: true))),
        ]
    }

    /// The form of `/v1/models`, a path of OpenAI's door, for clients that name Anthropic's version.
    var models: (any ModelLister)? { AnthropicModels() }

    /// Anthropic uses 400 where chatterd's own API has 422, and 529 for an overloaded server.
    func status(of fault: DoorFault) -> Int {
        switch fault.status {
        case 422: 400
        case 503 where fault.code == "overloaded": 529
        default: fault.status
        }
    }

    func append(_ fault: DoorFault, to body: inout ByteBuffer) {
        body.appendJSON { json in
            json.object { json in
                json.member("type", "error")
                json.object("error") { json in
                    json.member("type", Self.type(of: status(of: fault)))
                    json.member("message", fault.message)
                }
            }
        }
    }

    private static func type(of status: Int) -> String {
        switch status {
        case 401: "authentication_error"
        case 403: "permission_error"
        case 404: "not_found_error"
        case 413: "request_too_large"
        case 429: "rate_limit_error"
        case 504: "timeout_error"
        case 529: "overloaded_error"
        case 400..<500: "invalid_request_error"
        default: "api_error"
        }
    }
}

extension FieldName {
    /// The field by which Anthropic's clients name the version of the API. It is required there.
    package static let anthropicVersion = FieldName(lowercase: "anthropic-version")
}
