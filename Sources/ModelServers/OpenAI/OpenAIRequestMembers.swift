import ChatterdBasics
import ChatterdLanguageModels

/// The members of a request beside its messages: a client's, which are Ollama's, as an OpenAI server takes them.
///
/// None is left out in silence. What has a counterpart is translated; `options` without one, and members that are not Ollama's,
/// go out under their own names; what a client says in OpenAI's own words counts more than what is translated.
struct OpenAIRequestMembers {
    private(set) var list: [RawMember] = []
    private var names: Set<String> = []
    private let isOpenAI: Bool

    /// What is said by the request itself.
    private static let reserved: Set<String> = ["model", "messages", "stream"]

    init(isOpenAI: Bool) {
        self.isOpenAI = isOpenAI
    }

    /// Adds a member, unless one of its name is there.
    mutating func set(_ key: String, to json: String) {
        set(key, to: [UInt8](json.utf8))
    }

    private mutating func set(_ key: String, to json: [UInt8]) {
        guard names.insert(key).inserted else { return }
        list.append(RawMember(key: key, value: json))
    }

    /// Adds what the client has sent.
    ///
    /// - Throws: `unsupported` for what no server of this kind can be told.
    mutating func translate(_ members: [RawMember]) throws(ModelError) {
        for member in members where !["options", "format", "think"].contains(member.key) {
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
        // Without being asked servers do not count.
        set("stream_options", to: "{\"include_usage\":true}")
    }

    private func check(_ member: RawMember) throws(ModelError) {
        // Other choices than the first would be thrown away.
        if member.key == "n", member.value != [UInt8(ascii: "1")] { throw .unsupported("n") }
    }

    private mutating func translate(options: [UInt8]) throws(ModelError) {
        guard let options = try? RawMember.members(of: options) else { throw .unsupported("options") }
        for option in options where option.value != [UInt8]("null".utf8) {
            guard !Self.reserved.contains(option.key) else { throw .unsupported("options.\(option.key)") }
            try check(option)
            switch option.key {
            case "num_predict":
                // Below zero it says that there is no limit, as its absence does here.
                if option.value.first != UInt8(ascii: "-") {
                    set(isOpenAI ? "max_completion_tokens" : "max_tokens", to: option.value)
                }
            case "repeat_penalty":
                // llama.cpp knows it by this name, vLLM by the other.
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
    /// The request has a field that the model server cannot be told.
    static func unsupported(_ field: String) -> ModelError {
        ModelError(.unsupported, "The model server does not take \"\(field)\".", detail: "field \(field)")
    }
}
