import ChatterdBasics
import ChatterdChat

extension JSONWriter {
    /// Writes tools as Llama Stack describes them, from an array in OpenAI's and Ollama's form.
    ///
    /// A parameter of Llama Stack has a type, a description, a default and a flag whether it is required. The rest of its schema is
    /// appended to its description as JSON, so that the model can read it.
    ///
    /// - Throws: `wrongType` if an element is no function, or the error of the JSON.
    mutating func write(llamaStackTools tools: [UInt8]) throws(JSONError) {
        var reader = JSONReader(tools.span)
        try reader.beginArray()
        while try reader.nextElement() {
            let tool = try LlamaStackTool(Array(tools[try reader.skipValue()]))
            try object { object throws(JSONError) in try object.write(tool) }
        }
    }

    private mutating func write(_ tool: LlamaStackTool) throws(JSONError) {
        member("tool_name", raw: tool.name.span)
        if let description = tool.description.json { member("description", raw: description.span) }
        try object("parameters") { parameters throws(JSONError) in
            for property in tool.properties {
                let parameter = try LlamaStackParameter(property.value)
                parameters.object(property.key) {
                    $0.write(parameter, isRequired: tool.required.contains(ExactText(property.key)))
                }
            }
        }
    }

    private mutating func write(_ parameter: LlamaStackParameter, isRequired: Bool) {
        member("param_type", raw: parameter.type.span)
        if let description = parameter.description.json { member("description", raw: description.span) }
        member("required", isRequired)
        if let value = parameter.defaultValue { member("default", raw: value.span) }
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
