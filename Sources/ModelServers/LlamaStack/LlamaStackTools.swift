import ChatterdBasics
import ChatterdLanguageModels

extension ByteBuffer {
    /// Appends tools as Llama Stack describes them, from an array of OpenAI's and Ollama's form.
    ///
    /// A parameter of Llama Stack has a type, a description, a default and a flag whether it is required. The rest of its schema is
    /// appended to its description as JSON, so that the model can read it.
    ///
    /// - Throws: `wrongType` if an element is no function, or the error of the JSON.
    mutating func append(llamaStackTools tools: Span<UInt8>) throws(JSONError) {
        var reader = JSONReader(tools)
        try reader.beginArray()
        append(UInt8(ascii: "["))
        var isFirst = true
        while try reader.nextElement() {
            if !isFirst { append(UInt8(ascii: ",")) }
            isFirst = false
            let tool = tools.extracting(try reader.skipValue())
            try append(LlamaStackTool(tool))
        }
        append(UInt8(ascii: "]"))
    }

    private mutating func append(_ tool: LlamaStackTool) throws(JSONError) {
        append("{\"tool_name\":")
        append(tool.name)
        if let description = tool.description.json {
            append(",\"description\":")
            append(description)
        }
        append(",\"parameters\":{")
        for (index, property) in tool.properties.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(jsonString: property.key)
            append(UInt8(ascii: ":"))
            try append(LlamaStackParameter(property.value), isRequired: tool.required.contains(property.key))
        }
        append("}}")
    }

    private mutating func append(_ parameter: LlamaStackParameter, isRequired: Bool) {
        append("{\"param_type\":")
        append(parameter.type)
        if let description = parameter.description.json {
            append(",\"description\":")
            append(description)
        }
        append(isRequired ? ",\"required\":true" : ",\"required\":false")
        if let value = parameter.defaultValue {
            append(",\"default\":")
            append(value)
        }
        append(UInt8(ascii: "}"))
    }
}

/// A description, with the part of a schema that Llama Stack can express only there.
private struct LlamaStackDescription {
    var text = ""
    var rest: [RawMember] = []

    /// The description as a JSON string; `nil` if it is empty.
    var json: [UInt8]? {
        guard !text.isEmpty || !rest.isEmpty else { return nil }
        var buffer = ByteBuffer()
        buffer.append(utf8: text)
        if !rest.isEmpty {
            buffer.append(utf8: text.isEmpty ? "{" : " {")
            buffer.append(rest)
            buffer.append(UInt8(ascii: "}"))
        }
        var json = ByteBuffer()
        json.append(jsonString: buffer.bytes)
        return json.array
    }
}

/// The members of a tool.
private struct LlamaStackTool {
    var name = Array("\"\"".utf8)
    var description = LlamaStackDescription()
    var properties: [RawMember] = []
    var required: Set<String> = []

    init(_ tool: Span<UInt8>) throws(JSONError) {
        for member in try RawMember.members(of: tool.array) {
            if member.key == "function" {
                try read(function: member.value)
            } else if member.key != "type" || member.value != Array("\"function\"".utf8) {
                throw JSONError(.wrongType, at: 0)
            }
        }
    }

    private mutating func read(function: [UInt8]) throws(JSONError) {
        for member in try RawMember.members(of: function) where member.value != Array("null".utf8) {
            switch member.key {
            case "name": name = member.value
            case "description": description.text = try member.value.jsonText()
            case "parameters": try read(parameters: member.value)
            default: description.rest.append(member)
            }
        }
    }

    private mutating func read(parameters: [UInt8]) throws(JSONError) {
        for member in try RawMember.members(of: parameters) where member.value != Array("null".utf8) {
            switch member.key {
            case "type" where member.value == Array("\"object\"".utf8): break
            case "properties": properties = try RawMember.members(of: member.value)
            case "required":
                var reader = JSONReader(member.value.span)
                try reader.beginArray()
                while try reader.nextElement() {
                    let name = try reader.string()
                    required.insert(String(decodingJSON: reader.bytes.extracting(name.range)))
                }
            default: description.rest.append(member)
            }
        }
    }
}

/// The members of a parameter of a tool.
private struct LlamaStackParameter {
    var type = Array("\"string\"".utf8)
    var description = LlamaStackDescription()
    var defaultValue: [UInt8]?

    init(_ schema: [UInt8]) throws(JSONError) {
        for member in try RawMember.members(of: schema) {
            switch member.key {
            case "type" where member.value.first == UInt8(ascii: "\""): type = member.value
            case "description": description.text = try member.value.jsonText()
            case "default": defaultValue = member.value
            default: description.rest.append(member)
            }
        }
    }
}

extension [UInt8] {
    /// The text that a JSON string encodes.
    fileprivate func jsonText() throws(JSONError) -> String {
        var reader = JSONReader(span)
        let string = try reader.string()
        return String(decodingJSON: span.extracting(string.range))
    }
}
