import ChatterdBasics
import ChatterdTools

extension Configuration {
    /// The tools of the server, in their order.
    public struct Tools: Sendable {
        /// The limit of tools: each prompt to `/llmtools` offers them to the model.
        static let maximumCount = 128

        public internal(set) var list: [ToolDescription] = []
        /// The servers that have further tools.
        public internal(set) var servers: [MCPDescription] = []
    }
}

extension Configuration.Tools {
    /// Reads the value of `CHATTERD_TOOLS`: a JSON list.
    mutating func setList(_ text: String) throws(SettingProblem) {
        enum Entry {
            case tool(ToolDescription)
            case server(MCPDescription)
        }
        let entries = try NamedEntries.read(text, limit: Self.maximumCount, of: "tools") { (entry) throws(JSONError) in
            let reader = try ToolReader(of: entry)
            let value = reader.tool.map(Entry.tool) ?? reader.server.map(Entry.server)
            return (reader.name, reader.problems, value)
        }
        for entry in entries {
            switch entry {
            case .tool(let tool): list.append(tool)
            case .server(let server): servers.append(server)
            }
        }
    }
}
