/// The models that can be asked, and the health of their servers.
public struct ModelList: Sendable, Hashable, Decodable {
    /// A model, under the name that prompts use.
    public struct Model: Sendable, Hashable, Decodable {
        public let name: String
        /// The model servers that have it, in the order in which they are asked.
        public let upstreams: [String]
        /// The size of its context in tokens, if known.
        public let context: Int?
    }

    /// A model server.
    public struct Server: Sendable, Hashable, Decodable {
        public let name: String
        public let kind: String?
        /// Whether it has just listed its models; `nil` if it was not asked yet.
        public let reachable: Bool?
        /// `unknown`, `healthy`, `cooling_down` or `probing`; `nil` if this process cannot use it.
        public let health: String?
        public let problem: String?
        /// The number of its models.
        public let models: Int
    }

    public let models: [Model]
    public let upstreams: [Server]
}
