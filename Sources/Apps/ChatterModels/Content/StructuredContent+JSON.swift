extension StructuredContent {
    /// Parses a JSON text.
    ///
    /// - Throws: `JSONFault`.
    public init(json text: String) throws(JSONFault) {
        try self.init(json: Array(text.utf8))
    }

    /// Parses a JSON text in UTF-8.
    ///
    /// - Throws: `JSONFault`.
    public init(json bytes: [UInt8]) throws(JSONFault) {
        var parser = IncrementalJSON()
        try parser.receive(bytes)
        self = try parser.finish()
    }

    /// The JSON text, without white space. An unfinished string is written as if it had ended.
    public var json: String {
        var text = ""
        write(to: &text)
        return text
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value):
            // JSON has no infinity, and no NaN.
            text += value.isFinite ? "\(value)" : "null"
        case .string(let value), .unfinishedString(let value): Self.write(value, to: &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, to: &text)
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// Writes a string (RFC 8259, section 7).
    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case ..<" ":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
