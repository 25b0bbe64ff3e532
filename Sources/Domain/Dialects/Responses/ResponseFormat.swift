import ChatterdBasics
import ChatterdRelay

/// `text` of a request for a response.
struct ResponseFormat {
    /// `text` as answers repeat it.
    private(set) var repeated = ByteBuffer()
    /// `format` for servers of all kinds but `openai`; `nil` for text.
    private var format: [UInt8]?
    /// `response_format` for servers of kind `openai`.
    private var responseFormat: [UInt8]?
    private var verbosity: [UInt8]?

    init(_ members: DoorMembers, ignored: inout IgnoredMembers) throws(RelayError) {
        let text = try members.object("text")
        try text?.ignore(allBut: ["format", "verbosity"], in: "text.", as: &ignored)
        repeated.append("{\"format\":")
        if let format = try text?.object("format", in: "text.") {
            try read(format, ignored: &ignored)
        } else {
            repeated.append(#"{"type":"text"}"#)
        }
        if let word = try text?.string("verbosity", in: "text.") {
            guard ["low", "medium", "high"].contains(word) else {
                throw .unsupported("text.verbosity", "use low, medium or high.")
            }
            verbosity = text?["verbosity"]?.json
            repeated.append(",\"verbosity\":")
            repeated.append(jsonString: word)
        }
        repeated.append("}")
    }

    private mutating func read(_ value: DoorMembers, ignored: inout IgnoredMembers) throws(RelayError) {
        let path = "text.format."
        switch try value.string("type", in: path) {
        case "text": repeated.append(#"{"type":"text"}"#)
        case "json_object":
            format = Array("\"json\"".utf8)
            responseFormat = Array(#"{"type":"json_object"}"#.utf8)
            repeated.append(#"{"type":"json_object"}"#)
        case "json_schema":
            try value.ignore(allBut: ["type", "name", "description", "schema", "strict"], in: path, as: &ignored)
            guard let name = try value.string("name", in: path) else {
                throw .invalid("text.format.name is missing.", "text.format.name")
            }
            guard try value.object("schema", in: path) != nil, let schema = value["schema"]?.json else {
                throw .invalid("text.format.schema is missing.", "text.format.schema")
            }
            let description = try value.string("description", in: path)
            let strict = try value.boolean("strict", in: path)
            format = schema
            var passed = ByteBuffer()
            passed.appendJSON { json in
                json.object { json in
                    json.member("type", "json_schema")
                    json.object("json_schema") { json in
                        json.member("name", name)
                        json.member("description", description)
                        json.member("schema", raw: schema.span)
                        json.member("strict", strict)
                    }
                }
            }
            responseFormat = passed.array
            repeated.appendJSON { json in
                json.object { json in
                    json.member("type", "json_schema")
                    json.member("name", name)
                    json.member("description", orNull: description)
                    // The specification permits only null here.
                    json.name("schema")
                    json.null()
                    json.member("strict", strict ?? false)
                }
            }
        default: throw .unsupported("text.format.type", "use text, json_object or json_schema.")
        }
    }

    /// Adds the members for the model server.
    func add(to draft: inout RequestDraft) {
        if let format { draft.pass("format", format) }
        // With the name of the schema and `strict`; it counts more than `format` there.
        if let responseFormat { draft.pass("response_format", responseFormat) }
        if let verbosity { draft.pass("verbosity", verbosity) }
    }
}
