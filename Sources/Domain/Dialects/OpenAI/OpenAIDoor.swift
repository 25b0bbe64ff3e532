import ChatterdBasics
import ChatterdHTTP
import ChatterdRelay

/// OpenAI's API: chat completions, completions, embeddings and models; and Open Responses, which has the same errors.
struct OpenAIDoor: DoorDialect {
    var endpoints: [DoorEndpoint] {
        let responses = OpenResponses()
        return [
            DoorEndpoint(.post, "/v1/chat/completions", .ask(OpenAIChat())),
            DoorEndpoint(.post, "/v1/completions", .translate(OpenAICompletions())),
            DoorEndpoint(.post, "/v1/embeddings", .translate(OpenAIEmbeddings())),
            DoorEndpoint(.get, "/v1/models", .models(OpenAIModels())),
            DoorEndpoint(.get, "/v1/models/:name*", .model(OpenAIModels())),
            DoorEndpoint(.post, "/v1/responses", .ask(responses)),
            DoorEndpoint(.get, "/v1/responses/:id", .response(.retrieve, responses)),
            DoorEndpoint(.delete, "/v1/responses/:id", .response(.delete, responses)),
            DoorEndpoint(.post, "/v1/responses/:id/cancel", .response(.cancel, responses)),
            DoorEndpoint(.get, "/v1/responses/:id/input_items", .response(.listInput, responses)),
            DoorEndpoint(.post, "/v1/conversations", .conversation(.create)),
            DoorEndpoint(.get, "/v1/conversations/:id", .conversation(.retrieve)),
            DoorEndpoint(.post, "/v1/conversations/:id", .conversation(.change)),
            DoorEndpoint(.delete, "/v1/conversations/:id", .conversation(.delete)),
            DoorEndpoint(.get, "/v1/conversations/:id/items", .conversation(.listItems)),
            DoorEndpoint(.post, "/v1/conversations/:id/items", .conversation(.addItems)),
            DoorEndpoint(.get, "/v1/conversations/:id/items/:item", .conversation(.item)),
            DoorEndpoint(.delete, "/v1/conversations/:id/items/:item", .conversation(.deleteItem)),
        ]
    }

    @discardableResult func append(_ fault: DoorFault, to body: inout ByteBuffer) -> Status {
        body.append("{\"error\":")
        append(errorOf: fault, to: &body)
        body.append("}")
        return fault.usualStatus
    }

    /// Appends the inner object of a fault.
    func append(errorOf fault: DoorFault, to body: inout ByteBuffer) {
        body.appendJSON { json in
            json.object { json in
                json.member("message", fault.message)
                json.member("type", Self.type(of: fault.usualStatus.code))
                json.member("param", orNull: fault.parameter)
                json.member("code", Self.code(of: fault.code))
            }
        }
    }

    private static func type(of status: Int) -> String {
        switch status {
        case 401: "authentication_error"
        case 403: "permission_error"
        case 404: "not_found_error"
        case 429: "rate_limit_error"
        case 400..<500: "invalid_request_error"
        default: "server_error"
        }
    }

    /// The codes that programs compare are OpenAI's; all others are chatterd's.
    static func code(of code: String) -> String {
        switch code {
        case "context_too_long": "context_length_exceeded"
        case "unauthorized": "invalid_api_key"
        case "rate_limited": "rate_limit_exceeded"
        default: code
        }
    }
}
