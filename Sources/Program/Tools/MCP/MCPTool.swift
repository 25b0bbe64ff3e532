import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// A tool of a server, as the server describes it.
struct MCPTool: Sendable {
    /// The limit of a description, in bytes. The rest is left out.
    static let maximumDescription = 8_192

    let name: String
    let description: String
    /// The JSON schema of its arguments.
    let parameters: [UInt8]
    /// Whether the server says that the tool changes nothing.
    let isReadOnly: Bool

    /// Reads an element of a list of tools; `nil` for one that cannot be called.
    init?(_ tool: JSONSlice) {
        guard let name = tool.last("name", .string)?.storableString, !name.isEmpty,
            let schema = tool.last("inputSchema", .object)
        else { return nil }
        self.name = name
        let text =
            tool.last("description", .string)?.storableString ?? tool.last("title", .string)?.storableString ?? ""
        description =
            text.utf8.count <= Self.maximumDescription
            ? text : String(text.unicodeScalars.prefix(Self.maximumDescription / 4)) + "…"
        parameters = schema.bytes
        isReadOnly = tool.last("annotations", .object)?.last("readOnlyHint", .boolean)?.boolean ?? false
    }

    /// The name that a model gets: letters, digits, `_` and `-`, after the name of the server; `nil` if it is too long.
    func offeredName(of server: String) -> String? {
        let offered = ToolOrigin(label: server, name: name).calledName
        return offered.utf8.count <= ToolDescription.maximumName ? offered : nil
    }

    /// What a model reads of the result of a call.
    ///
    /// - Parameter limit: that of the text, in bytes.
    static func result(of result: JSONSlice, upTo limit: Int) -> ToolResult {
        if let kind = result.last("resultType", .string)?.string, kind != "complete" {
            return .failure(
                "the tool wants more than its arguments (\(kind.prefix(40))), which no person here can give.")
        }
        let parts = (result.last("content", .array)?.elements(first: .max) ?? []).compactMap(text)
        var text = parts.joined(separator: "\n")
        if parts.isEmpty, let structured = result.last("structuredContent", .object) {
            text = String(decoding: structured.json, as: UTF8.self)
        }
        guard text.utf8.count <= limit else { return .failure("the result has more than \(limit) bytes.") }
        let isError = result.last("isError", .boolean)?.boolean ?? false
        return isError
            ? .failure(text.isEmpty ? "the tool has failed." : text)
            : ToolResult(text: Array(text.utf8), isError: false)
    }

    /// The text of a part of a result. Of a part that is no text, what it is.
    private static func text(of part: JSONSlice) -> String? {
        switch part.last("type", .string)?.string {
        case "text": return part.last("text", .string)?.string
        case "resource_link": return part.last("uri", .string)?.string
        case "resource":
            let resource = part.last("resource", .object)
            return resource?.last("text", .string)?.string ?? resource?.last("uri", .string)?.string
        case let type?:
            return
                "(\(type.prefix(40)) of the type \(part.last("mimeType", .string)?.string?.prefix(100) ?? "unknown"), which is left out)"
        case nil: return nil
        }
    }
}
