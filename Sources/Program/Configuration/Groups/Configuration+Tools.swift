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
        var problems: [String] = []
        do {
            let list = try JSONSlice(Array(text.utf8)).elements(first: .max)
            if list == nil { problems.append("not a JSON list of objects: put [ and ] around it") }
            let entries = list ?? []
            if entries.count > Self.maximumCount { problems.append("has more than \(Self.maximumCount) tools") }
            for (index, entry) in entries.prefix(Self.maximumCount).enumerated() {
                guard entry.kind == .object else {
                    problems.append("entry \(index + 1) is not an object")
                    continue
                }
                let reader = try ToolReader(of: entry)
                let name = reader.name.map { " (\"\(SettingText.excerpt($0))\")" } ?? ""
                problems += reader.problems.map { "entry \(index + 1)\(name): \($0)" }
                let names = self.list.map(\.name) + servers.map(\.name)
                if let name = reader.name, names.contains(name) {
                    problems.append(
                        "entry \(index + 1) (\"\(SettingText.excerpt(name))\"): an entry before it has this name")
                }
                if let tool = reader.tool { self.list.append(tool) }
                if let server = reader.server { servers.append(server) }
            }
        } catch {
            problems.append("not a JSON list of objects: \(error)")
        }
        guard problems.isEmpty else { throw SettingProblem(problems) }
    }
}
