import ChatterdChat
import Testing

/// A refused body, and the expected error.
struct ChatRequestRefusal: Sendable, CustomTestStringConvertible {
    let body: String
    let problem: ChatRequestError.Problem
    let field: String?
    let message: String

    init(_ body: String, _ problem: ChatRequestError.Problem, _ field: String?, _ message: String) {
        self.body = body
        self.problem = problem
        self.field = field
        self.message = message
    }

    var testDescription: String { message }

    fileprivate static func misspelled(
        _ name: String, _ meant: String, in object: String? = nil
    ) -> ChatRequestRefusal {
        let member = object == nil ? ",\"\(name)\":\"x\"" : ",\"options\":{\"\(name)\":\"x\"}"
        return ChatRequestRefusal(
            .request(adding: member), .unknownMember, meant,
            "\(object ?? "The body") has a member that differs from \"\(meant)\" in upper and lower case only: write \"\(meant)\"."
        )
    }

    fileprivate static func onDisconnect(
        _ value: String, _ problem: ChatRequestError.Problem, _ found: String = ""
    ) -> ChatRequestRefusal {
        ChatRequestRefusal(
            .request(adding: ",\"on_disconnect\":\(value)"), problem, "on_disconnect",
            "on_disconnect must be \"finish\", \"cancel\" or whole seconds from 0 to 86400\(found).")
    }
}

extension String {
    /// A valid body, except for the given parts.
    static func request(
        appID: String = #""a""#, model: String = #""m""#, messages: String = #"[{"role":"user","content":"Hi"}]"#,
        adding members: String = ""
    ) -> String {
        #"{"appID":\#(appID),"model":\#(model),"messages":\#(messages)\#(members)}"#
    }

    fileprivate static let blank = "messages[1].content is blank: send what the user says."

    fileprivate static func message(_ message: String) -> String {
        request(messages: #"[{"role":"user","content":"x"},\#(message)]"#)
    }
}

let chatRequestRefusals: [ChatRequestRefusal] = [
    .init("", .notJSON, nil, "The body is not JSON: the text ends inside a value at byte 0."),
    .init("{\"appID\":\"a\"", .notJSON, nil, "The body is not JSON: the text ends inside a value at byte 12."),
    .init("appID=a", .notJSON, nil, "The body is not JSON: unexpected character at byte 0."),
    .init("[1,]", .notJSON, nil, "The body is not JSON: unexpected character at byte 3."),
    .init("{} {}", .notJSON, nil, "The body is not JSON: more text after the value at byte 3."),
    .init(
        String(repeating: "[", count: 65), .notJSON, nil, "The body is not JSON: nested too deeply at byte 64."),
    .init("[]", .wrongType, nil, "The body must be a JSON object."),
    .init("null", .wrongType, nil, "The body must be a JSON object."),
    .init("{}", .missing, "model", "model is missing."),
    .init(.request(appID: "7"), .wrongType, "appID", "appID must be a string, not a number."),
    .init(.request(appID: "[]"), .wrongType, "appID", "appID must be a string, not an array."),
    .init(.request(appID: #""""#), .empty, "appID", "appID must not be empty."),
    .init(
        .request(appID: "\"\(String(repeating: "é", count: 156))\""), .tooLong, "appID",
        "appID has 156 characters; at most 155 are allowed."),
    .init(.request(appID: #""a\u0000""#), .forbiddenCharacter, "appID", "appID must not contain control characters."),
    .init(.request(appID: #""a\ud800""#), .forbiddenCharacter, "appID", "appID must not contain control characters."),
    .init(.request(appID: #""a\n""#), .forbiddenCharacter, "appID", "appID must not contain control characters."),
    .init(.request(appID: #""\u007f""#), .forbiddenCharacter, "appID", "appID must not contain control characters."),
    .init(.request(appID: #""\u0085""#), .forbiddenCharacter, "appID", "appID must not contain control characters."),
    .init(
        .request(adding: #","conversation":7"#), .wrongType, "conversation",
        "conversation must be a string, not a number."),
    .init(.request(adding: #","conversation":"""#), .empty, "conversation", "conversation must not be empty."),
    .init(
        .request(adding: ",\"conversation\":\"\(String(repeating: "é", count: 156))\""), .tooLong, "conversation",
        "conversation has 156 characters; at most 155 are allowed."),
    .init(
        .request(adding: #","conversation":"a\u001fb""#), .forbiddenCharacter, "conversation",
        "conversation must not contain control characters."),
    .init(
        .request(appID: #""a\u001f\u001fb""#), .forbiddenCharacter, "appID",
        "appID must not contain control characters."),
    .init(#"{"appID":"a","messages":[]}"#, .missing, "model", "model is missing."),
    .init(.request(model: "null"), .missing, "model", "model is missing."),
    .init(.request(model: #""""#), .empty, "model", "model must not be empty."),
    .init(.request(model: "{}"), .wrongType, "model", "model must be a string, not an object."),
    .init(
        .request(model: "\"\(String(repeating: "é", count: 129))\""), .tooLong, "model",
        "model has 258 bytes; at most 256 are allowed."),
    .init(.request(model: #""a\u000ab""#), .forbiddenCharacter, "model", "model must not contain control characters."),
    .init(.request(model: #""a\u0085""#), .forbiddenCharacter, "model", "model must not contain control characters."),
    .misspelled("Model", "model"), .misspelled("MESSAGES", "messages"), .misspelled("\\u0053tream", "stream"),
    .misspelled("me\u{17F}\u{17F}ages", "messages"), .misspelled("me\\u017fsages", "messages"),
    .misspelled("\u{212A}eep_alive", "keep_alive"), .misspelled("APPID", "appID"), .misspelled("appid", "appID"),
    .misspelled("Conversation", "conversation"),
    .misspelled("Options", "options"), .misspelled("N", "n"),
    .misspelled("Model", "model", in: "options"), .misspelled("\u{17F}tream", "stream", in: "options"),
    .init(
        .request(adding: ",\"\(String(repeating: "k", count: 129))\":1"), .tooLong, nil,
        "The body has a member whose name has more than 128 bytes."),
    .init(
        .request(adding: ",\"options\":{\"\(String(repeating: "k", count: 5000))\":1}"), .tooLong, nil,
        "options has a member whose name has more than 128 bytes."),
    .init(.message(#"{"role":"user","content":""}"#), .empty, "messages[1].content", .blank),
    .init(.message(#"{"role":"user","content":" \n\t\u00a0\u3000"}"#), .empty, "messages[1].content", .blank),
    .init(.message(#"{"role":"user","content":" ","thinking":"x"}"#), .empty, "messages[1].content", .blank),
    .init(#"{"appID":"a","model":"m"}"#, .missing, "messages", "messages is missing."),
    .init(.request(messages: "null"), .missing, "messages", "messages is missing."),
    .init(.request(messages: "[]"), .empty, "messages", "messages must not be empty."),
    .init(.request(messages: "{}"), .wrongType, "messages", "messages must be an array, not an object."),
    .init(.request(messages: #""Hi""#), .wrongType, "messages", "messages must be an array, not a string."),
    .init(.message("null"), .wrongType, "messages[1]", "messages[1] must be an object, not null."),
    .init(.message(#""Hi""#), .wrongType, "messages[1]", "messages[1] must be an object, not a string."),
    .init(.message(#"{"content":"x"}"#), .missing, "messages[1].role", "messages[1].role is missing."),
    .init(.message(#"{"role":null,"content":"x"}"#), .missing, "messages[1].role", "messages[1].role is missing."),
    .init(
        .message(#"{"role":1,"content":"x"}"#), .wrongType, "messages[1].role",
        "messages[1].role must be a string, not a number."),
    .init(.message(#"{"role":"","content":"x"}"#), .empty, "messages[1].role", "messages[1].role must not be empty."),
    .init(
        .message(#"{"role":"\#(String(repeating: "r", count: 33))","content":"x"}"#), .tooLong, "messages[1].role",
        "messages[1].role has 33 characters; at most 32 are allowed."),
    .init(.message(#"{"role":"user"}"#), .missing, "messages[1].content", "messages[1].content is missing."),
    .init(
        .message(#"{"role":"user","content":null}"#), .missing, "messages[1].content",
        "messages[1].content is missing."),
    .init(
        .message(#"{"role":"user","images":null}"#), .missing, "messages[1].content", "messages[1].content is missing."),
    .init(
        .message(#"{"role":"user","content":[{"type":"text","text":"x"}]}"#), .wrongType, "messages[1].content",
        "messages[1].content must be a string; an array of parts is not understood."),
    .init(
        .message(#"{"role":"user","content":{}}"#), .wrongType, "messages[1].content",
        "messages[1].content must be a string, not an object."),
    .init(
        .message(#"{"role":"user","content":true}"#), .wrongType, "messages[1].content",
        "messages[1].content must be a string, not a boolean."),
    .init(
        .message(#"{"role":"user","content":"x","images":"aGk="}"#), .wrongType, "messages[1].images",
        "messages[1].images must be an array, not a string."),
    .init(
        .message(#"{"role":"user","content":"x","images":[{"url":"x"}]}"#), .wrongType, "messages[1].images",
        "messages[1].images must be an array of strings, without an object."),
    .init(
        .message(
            #"{"role":"user","content":"x","images":[\#(Array(repeating: #""a""#, count: 257).joined(separator: ","))]}"#
        ),
        .tooMany, "messages[1].images", "messages[1].images has more than 256 elements."),
    .init(
        .message(#"{"role":"assistant","content":"x","tool_calls":{}}"#), .wrongType, "messages[1].tool_calls",
        "messages[1].tool_calls must be an array, not an object."),
    .init(
        .message(#"{"role":"assistant","content":"x","tool_calls":[{},"f"]}"#), .wrongType, "messages[1].tool_calls",
        "messages[1].tool_calls must be an array of objects, without a string."),
    .init(
        .message(#"{"role":"tool","content":"x","tool_name":1}"#), .wrongType, "messages[1].tool_name",
        "messages[1].tool_name must be a string, not a number."),
    .init(
        .message(#"{"role":"assistant","content":"x","thinking":true}"#), .wrongType, "messages[1].thinking",
        "messages[1].thinking must be a string, not a boolean."),
    .init(
        .request(adding: #","stream":"no""#), .wrongType, "stream", "stream must be true or false, not a string."),
    .init(.request(adding: #","stream":0"#), .wrongType, "stream", "stream must be true or false, not a number."),
    .init(.request(adding: #","parent":7"#), .wrongType, "parent", "parent must be a string, not a number."),
    .init(.request(adding: #","parent":"""#), .empty, "parent", "parent must not be empty."),
    .init(
        .request(adding: #","parent":"\#(String(repeating: "0", count: 37))""#), .tooLong, "parent",
        "parent has 37 characters; at most 36 are allowed."),
    .onDisconnect("true", .wrongType, ", not a boolean"),
    .onDisconnect("[]", .wrongType, ", not an array"),
    .onDisconnect(#""30""#, .unknownValue),
    .onDisconnect(#""Finish""#, .unknownValue),
    .onDisconnect(#""""#, .unknownValue),
    .onDisconnect("-1", .unknownValue),
    .onDisconnect("1.5", .unknownValue),
    .onDisconnect("1e2", .unknownValue),
    .onDisconnect("86401", .unknownValue),
    .onDisconnect("99999999999999999999", .unknownValue),
    .init(
        .request(adding: #","on_interrupt":1"#), .wrongType, "on_interrupt",
        "on_interrupt must be a string, not a number."),
    .init(
        .request(adding: #","on_interrupt":"again""#), .unknownValue, "on_interrupt",
        #"on_interrupt must be "close" or "regenerate"."#),
    .init(
        .request(adding: #","when_busy":1"#), .wrongType, "when_busy",
        "when_busy must be a string, not a number."),
    .init(
        .request(adding: #","when_busy":"never""#), .unknownValue, "when_busy",
        #"when_busy must be "wait", "refuse", "stop" or "replace"."#),
    .init(
        .request(adding: #","queue_events":"1""#), .wrongType, "queue_events",
        "queue_events must be true or false, not a string."),
    .init(
        .request(adding: #","step_events":0"#), .wrongType, "step_events",
        "step_events must be true or false, not a number."),
]
