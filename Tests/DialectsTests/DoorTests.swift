import ChatterdChat
import ChatterdHTTP
import ChatterdIdentity
import ChatterdRelay
import Testing

@testable import ChatterdDialects

/// The table of doors.
struct DoorTests {
    @Test(
        arguments: [
            ("/api/chat", Door.ollama), ("/api", .ollama), ("/api/none", .ollama), ("/v1/models", .openAI),
            ("/v1", .openAI), ("/v1/messages", .anthropic), ("/v1/messages/count_tokens", .anthropic),
            ("/apix", nil), ("/v1x", nil), ("/llmchat", nil), ("/", nil), ("/v1/messagesx", .openAI),
            ("//v1/models", .openAI), ("//v1/messages", .anthropic), ("//api/chat", .ollama), ("//", nil), ("", nil),
        ] as [(String, Door?)])
    func pathLeadsToItsDoor(_ path: String, _ door: Door?) {
        #expect(Door(path: path, namesAnthropic: false) == door)
    }

    @Test func anthropicsVersionLeadsToItsDoor() {
        #expect(Door(path: "/v1/models", namesAnthropic: true) == .anthropic)
        #expect(Door(path: "/api/tags", namesAnthropic: true) == .ollama)
    }

    @Test func everyPathLeadsToTheDoorThatHasIt() {
        for door in Door.allCases {
            for endpoint in door.dialect.endpoints {
                #expect(Door(path: endpoint.path, namesAnthropic: false) == door, "\(endpoint.path)")
            }
        }
    }

    @Test(arguments: Door.allCases)
    func faultHasTheFormOfTheDoor(_ door: Door) {
        func form(_ code: RelayError.Code) -> String {
            var error = RelayError(code, "No.")
            error.parameter = "n"
            var status = Status.ok
            let body = text { status = door.dialect.append(DoorFault(error), to: &$0) }
            return "\(status.code) \(body)"
        }
        switch door {
        case .ollama:
            #expect(form(.invalidRequest) == #"400 {"error":"No."}"#)
            #expect(form(.overloaded) == #"503 {"error":"No."}"#)
        case .openAI:
            #expect(
                form(.invalidRequest)
                    == #"400 {"error":{"message":"No.","type":"invalid_request_error","param":"n","code":"invalid_request"}}"#
            )
            #expect(
                form(.access(.unauthorized))
                    == #"401 {"error":{"message":"No.","type":"authentication_error","param":"n","code":"invalid_api_key"}}"#
            )
            #expect(
                form(.model(.contextTooLong))
                    == #"400 {"error":{"message":"No.","type":"invalid_request_error","param":"n","code":"context_length_exceeded"}}"#
            )
            #expect(
                form(.responseRestarted)
                    == #"409 {"error":{"message":"No.","type":"invalid_request_error","param":"n","code":"response_restarted"}}"#
            )
            #expect(form(.model(.failed)).contains(#""type":"server_error""#))
        case .anthropic:
            #expect(
                form(.invalidRequest)
                    == #"400 {"type":"error","error":{"type":"invalid_request_error","message":"No."}}"#)
            #expect(
                form(.overloaded) == #"529 {"type":"error","error":{"type":"overloaded_error","message":"No."}}"#)
            #expect(form(.model(.failed)).contains(#""type":"api_error""#))
        }
    }
}
