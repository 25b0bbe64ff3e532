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

    @discardableResult func append(_ fault: DoorFault, to body: inout ByteBuffer) -> Status {
        // 529 is Anthropic's own status of an overloaded server.
        let isOverloaded = fault.status == .serviceUnavailable && fault.code == "overloaded"
        let status = isOverloaded ? Status(529) ?? .serviceUnavailable : fault.usualStatus
        body.appendJSON { json in
            json.object { json in
                json.member("type", "error")
                json.object("error") { json in
                    json.member("type", Self.type(of: status.code))
                    json.member("message", fault.message)
                    if fault.parameter == "thread" {
                        // Anthropic's packages send the whole history then.
                        json.object("details") { json in
                            json.member("error_code", "thread_unsupported_request")
                            json.array("unsupported") { _ in }
                        }
                    }
                }
            }
        }
        return status
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
