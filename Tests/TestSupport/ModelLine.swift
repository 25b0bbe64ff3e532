/// The two generations of Ollama's lines that differ on the wire.
public enum ModelDialect: Sendable {
    /// `done_reason` before `done`; tool calls alone in lines before the last.
    case v0_11
    /// `done` before `done_reason`; tool calls whole in the last line.
    case v0_32
}

/// The lines of Ollama, each ended by LF, with its spelling and its order of keys.
public enum ModelLine {
    /// The fixed time of all lines.
    public static let time = "2026-11-20T10:39:26.491288961Z"

    /// A piece of the answer.
    public static func token(_ text: String, model: String = "tiny") -> String {
        line(model, "\"role\":\"assistant\",\"content\":\(jsonString(text))", "\"done\":false")
    }

    /// A piece of the thinking of the model, with an empty content.
    public static func thinking(_ text: String, model: String = "tiny") -> String {
        line(model, "\"role\":\"assistant\",\"content\":\"\",\"thinking\":\(jsonString(text))", "\"done\":false")
    }

    /// The last line.
    public static func done(
        model: String = "tiny", _ dialect: ModelDialect = .v0_32, reason: String = "stop", content: String = ""
    ) -> String {
        line(model, "\"role\":\"assistant\",\"content\":\(jsonString(content))", end(reason, dialect))
    }

    /// Calls of functions, given as name and the JSON text of the arguments: one last line, or a line each and a last one.
    public static func toolCalls(
        _ calls: [(name: String, arguments: String)], model: String = "tiny", _ dialect: ModelDialect = .v0_32
    ) -> [String] {
        let role = "\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":"
        switch dialect {
        case .v0_32:
            let list = calls.enumerated().map { index, call in
                let function = "\"name\":\(jsonString(call.name)),\"arguments\":\(call.arguments)"
                return "{\"id\":\"0YY9\(index)\",\"function\":{\"index\":\(index),\(function)}}"
            }
            return [line(model, role + "[\(list.joined(separator: ","))]", end("stop", dialect))]
        case .v0_11:
            let lines = calls.enumerated().map { index, call in
                let position = index == 0 ? "" : "\"index\":\(index),"
                return line(
                    model,
                    role
                        + "[{\"function\":{\(position)\"name\":\(jsonString(call.name)),\"arguments\":\(call.arguments)}}]",
                    "\"done\":false")
            }
            return lines + [done(model: model, dialect)]
        }
    }

    /// An error in the middle of a stream.
    public static func error(
        _ text: String = "an error was encountered while running the model: unexpected EOF"
    ) -> String {
        "{\"error\":\(jsonString(text))}\n"
    }

    private static func line(_ model: String, _ message: String, _ end: String) -> String {
        "{\"model\":\(jsonString(model)),\"created_at\":\"\(time)\",\"message\":{\(message)},\(end)}\n"
    }

    private static func end(_ reason: String, _ dialect: ModelDialect) -> String {
        let durations =
            "\"total_duration\":261237533,\"load_duration\":256496426,\"prompt_eval_count\":18,"
            + "\"prompt_eval_duration\":841000,\"eval_count\":13,\"eval_duration\":1959000"
        switch dialect {
        case .v0_32: return "\"done\":true,\"done_reason\":\"\(reason)\",\(durations)"
        case .v0_11: return "\"done_reason\":\"\(reason)\",\"done\":true,\(durations)"
        }
    }
}

/// A JSON string as Go writes it: `<`, `>`, `&` and the line separators escaped, all other characters unescaped.
public func jsonString(_ text: String) -> String {
    var text = text
    return text.withUTF8 { bytes in
        var out = [UInt8(ascii: "\"")]
        out.reserveCapacity(bytes.count + 2)
        // Texts may have megabytes: what stays as it is, is copied in one piece.
        var (copied, next) = (0, 0)
        while next < bytes.count {
            let byte = bytes[next]
            if byte > 0x5c && byte != 0xe2 {
                next += 1
                continue
            }
            var (length, escape) = (1, "")
            switch byte {
            case 0x22: escape = "\\\""
            case 0x5c: escape = "\\\\"
            case 0x0a: escape = "\\n"
            case 0x0d: escape = "\\r"
            case 0x09: escape = "\\t"
            case 0x08: escape = "\\b"
            case 0x0c: escape = "\\f"
            case 0x3c, 0x3e, 0x26, 0..<0x20: escape = "\\u00" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
            // U+2028 and U+2029.
            case 0xe2 where bytes[next + 1] == 0x80 && bytes[next + 2] & 0xfe == 0xa8:
                (length, escape) = (3, "\\u202" + String(bytes[next + 2] & 0x0f, radix: 16))
            default: break
            }
            if !escape.isEmpty {
                out += bytes[copied..<next]
                out += escape.utf8
                copied = next + length
            }
            next += length
        }
        out += bytes[copied...]
        out.append(UInt8(ascii: "\""))
        return String(decoding: out, as: UTF8.self)
    }
}
