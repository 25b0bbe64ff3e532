import ChatterdBasics
import ChatterdChat

/// The members of a parameter of a tool.
struct LlamaStackParameter {
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
