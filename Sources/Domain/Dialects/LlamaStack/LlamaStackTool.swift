import ChatterdBasics
import ChatterdChat

/// The members of a tool.
struct LlamaStackTool {
    var name = Array("\"\"".utf8)
    var description = LlamaStackDescription()
    var properties: [RawMember] = []
    var required: Set<ExactText> = []

    init(_ tool: [UInt8]) throws(JSONError) {
        for member in try RawMember.members(of: tool) {
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
                    required.insert(ExactText(String(decodingJSON: reader.bytes.extracting(name.range))))
                }
            default: description.rest.append(member)
            }
        }
    }
}
