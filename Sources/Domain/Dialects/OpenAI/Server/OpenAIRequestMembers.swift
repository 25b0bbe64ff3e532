import ChatterdBasics
import ChatterdChat

/// The members of a request beside its messages, translated from Ollama's to OpenAI's.
///
/// No member is dropped silently. A member with a counterpart is translated; `options` without one, and members that are not
/// Ollama's, keep their names. A member under OpenAI's name counts more than a translated one.
struct OpenAIRequestMembers {
    private(set) var list: [RawMember] = []
    private var names: Set<ExactText> = []
    private let isOpenAI: Bool

    /// The members that the request writes itself.
    private static let reserved: Set<String> = ["model", "messages", "stream"]

    init(isOpenAI: Bool) {
        self.isOpenAI = isOpenAI
    }

    /// Adds a member, unless one with its name exists.
    mutating func set(_ key: String, to json: String) {
        set(key, to: [UInt8](json.utf8))
    }

    private mutating func set(_ key: String, to json: [UInt8]) {
        guard names.insert(ExactText(key)).inserted else { return }
        list.append(RawMember(key: key, value: json))
    }

    /// Adds the members of the client.
    ///
    /// - Throws: `unsupported` for a member that the dialect cannot express.
    mutating func translate(_ members: [RawMember]) throws(ModelError) {
        // chatterd itself refuses a prompt that does not fit, if the client says so by `truncate`.
        for member in members where !["options", "format", "think", "truncate"].contains(member.key) {
            try check(member)
            set(member.key, to: member.value)
        }
        for member in members {
            switch member.key {
            case "options": try translate(options: member.value)
            case "format": try translate(format: member.value)
            case "think": try translate(think: member.value)
            default: break
            }
        }
        // Servers send token counts only on request.
        set("stream_options", to: "{\"include_usage\":true}")
    }

    private func check(_ member: RawMember) throws(ModelError) {
        // Only the first choice is read.
        if member.key == "n", member.value != [UInt8(ascii: "1")] { throw .unsupported("n") }
    }

    private mutating func translate(options: [UInt8]) throws(ModelError) {
        guard let options = try? RawMember.members(of: options) else { throw .unsupported("options") }
        for option in options where option.value != [UInt8]("null".utf8) {
            guard !Self.reserved.contains(option.key) else { throw .unsupported("options.\(option.key)") }
            try check(option)
            switch option.key {
            case "num_predict":
                // A negative value means no limit, like the absence of the member.
                if option.value.first != UInt8(ascii: "-") {
                    set(isOpenAI ? "max_completion_tokens" : "max_tokens", to: option.value)
                }
            case "repeat_penalty":
                // llama.cpp reads this name, vLLM the other one.
                set("repeat_penalty", to: option.value)
                set("repetition_penalty", to: option.value)
            default:
                set(option.key, to: option.value)
            }
        }
    }

    private mutating func translate(format: [UInt8]) throws(ModelError) {
        switch String(decoding: format, as: UTF8.self) {
        case "\"\"": break
        case "\"json\"": set("response_format", to: "{\"type\":\"json_object\"}")
        case let schema where schema.hasPrefix("{"):
            set(
                "response_format",
                to: "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"schema\":\(schema)}}")
        default: throw .unsupported("format")
        }
    }

    private mutating func translate(think: [UInt8]) throws(ModelError) {
        let value = String(decoding: think, as: UTF8.self)
        switch value {
        case "true", "false":
            if isOpenAI {
                set("reasoning_effort", to: value == "true" ? "\"medium\"" : "\"none\"")
            } else {
                set("chat_template_kwargs", to: "{\"enable_thinking\":\(value)}")
            }
        case let effort where effort.hasPrefix("\""): set("reasoning_effort", to: effort)
        default: throw .unsupported("think")
        }
    }
}

extension ModelError {
    /// The request has a field that the model server cannot express; `reason` completes the sentence.
    static func unsupported(_ field: String, _ reason: String = "") -> ModelError {
        ModelError(
            .unsupported, "The model server does not take \"\(field)\"\(reason.isEmpty ? "" : ", ")\(reason).",
            detail: "field \(field)")
    }
}
