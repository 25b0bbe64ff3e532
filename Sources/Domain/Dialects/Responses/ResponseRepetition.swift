import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// What a response repeats of its request: the members of the resource that do not change.
struct ResponseRepetition {
    /// The members, as JSON without braces.
    let json: [UInt8]

    init(
        _ members: DoorMembers, _ tools: ResponseTools, _ format: ResponseFormat, _ reasoning: ResponseReasoning,
        _ continuation: DoorRequest.Continuation?, isStored: Bool, isBackground: Bool
    ) throws(RelayError) {
        let instructions = try members.string("instructions")
        // Most requests have the defaults, which take some 600 bytes.
        var repeated = ByteBuffer(capacity: 1_024)
        func name(_ name: StaticString) {
            repeated.append(repeated.isEmpty ? "\"" : ",\"")
            repeated.append(name)
            repeated.append("\":")
        }
        func member(_ key: StaticString, _ json: [UInt8]) {
            name(key)
            repeated.append(json)
        }
        func member(_ key: StaticString, _ json: StaticString) {
            name(key)
            repeated.append(json)
        }
        /// Repeats a member of a kind, or its default.
        func member(_ key: StaticString, _ kind: JSONKind, otherwise json: StaticString) {
            if let value = members[String(describing: key)], value.kind == kind {
                member(key, value.json)
            } else {
                member(key, json)
            }
        }
        member("instructions", Self.string(instructions))
        var (previous, conversation): (String?, String?) = (nil, nil)
        switch continuation {
        case .reply(let id): previous = "resp_\(id)"
        case .conversation(let name): conversation = name
        case nil: break
        }
        member("previous_response_id", Self.string(previous))
        if let conversation {
            member("conversation", Array("{\"id\":".utf8) + Self.string(conversation) + Array("}".utf8))
        }
        member("tools", tools.repeated)
        member("tool_choice", tools.repeatedChoice)
        member("truncation", .string, otherwise: #""auto""#)
        member("parallel_tool_calls", .boolean, otherwise: "true")
        member("text", format.repeated.array)
        member("top_p", .number, otherwise: "1")
        member("presence_penalty", .number, otherwise: "0")
        member("frequency_penalty", .number, otherwise: "0")
        member("top_logprobs", "0")
        member("temperature", .number, otherwise: "1")
        member("reasoning", reasoning.repeated.array)
        // A number with a point is a limit, too; -1 is none.
        let limit = members["max_output_tokens"]?.wholeNumber ?? 0
        member("max_output_tokens", Array((limit > 0 ? String(limit) : "null").utf8))
        member("max_tool_calls", Array((members["max_tool_calls"]?.wholeNumber.map(String.init) ?? "null").utf8))
        member("store", isStored ? "true" : "false")
        member("background", isBackground ? "true" : "false")
        member("service_tier", .string, otherwise: #""default""#)
        member("metadata", Array("{".utf8) + (try DoorMetadata.json(of: members)) + Array("}".utf8))
        member("safety_identifier", .string, otherwise: "null")
        member("prompt_cache_key", .string, otherwise: "null")
        json = repeated.array
    }

    /// What the response of a request to another API repeats: defaults.
    static func defaults(createdAt seconds: Int) -> [UInt8] {
        let nothing = DoorMembers([])
        var ignored = IgnoredMembers(.lenient)
        guard let tools = try? ResponseTools(nothing, ignored: &ignored),
            let format = try? ResponseFormat(nothing, ignored: &ignored),
            let reasoning = try? ResponseReasoning(nothing, ignored: &ignored),
            let repeated = try? ResponseRepetition(
                nothing, tools, format, reasoning, nil, isStored: true, isBackground: false)
        else { return [] }
        return Array("{\"created_at\":\(seconds),".utf8) + repeated.json + Array("}".utf8)
    }

    private static func string(_ text: String?) -> [UInt8] {
        guard let text else { return Array("null".utf8) }
        var json = ByteBuffer()
        json.append(jsonString: text)
        return json.array
    }
}
