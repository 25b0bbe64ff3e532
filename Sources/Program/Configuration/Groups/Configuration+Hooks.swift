import ChatterdBasics
import ChatterdHooks

extension Configuration {
    /// The hooks of the operator, in their order.
    public struct Hooks: Sendable {
        /// The limit of hooks: each prompt asks those for its app one after the other.
        static let maximumCount = 16

        public internal(set) var list: [Hook] = []

        /// The names of the hooks that get the ends of replies.
        public var toldOfEnds: [String] { list.filter { $0.events.contains(.end) }.map(\.name) }
    }
}

extension Configuration.Hooks {
    /// Reads the value of `CHATTERD_HOOKS`: a JSON list.
    mutating func setList(_ text: String) throws(SettingProblem) {
        let list = try NamedEntries.read(text, limit: Self.maximumCount, of: "hooks") { (entry) throws(JSONError) in
            let reader = try HookReader(of: entry)
            return (reader.name, reader.problems, reader.hook)
        }
        self.list = list
    }
}
