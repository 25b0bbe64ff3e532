import LanguageModels

extension Configuration {
    /// One model server.
    public struct Upstream: Sendable, Equatable {
        /// Its name, unique among all: for the log and the operator.
        public var name: String
        /// What it speaks, and where.
        public var backend: Backend
        /// The key that it wants, sent as `Authorization: Bearer`.
        public var key: ConfigurationSecret?
        /// The models that it is asked for; empty when it is asked for any.
        public var models: [String] = []
        /// The time to connect.
        public var connectTimeout: Duration
        /// The limits of its answers.
        public var limits: GenerationLimits

        /// Makes an entry.
        public init(
            name: String, backend: Backend, key: ConfigurationSecret? = nil, models: [String] = [],
            connectTimeout: Duration, limits: GenerationLimits
        ) {
            self.name = name
            self.backend = backend
            self.key = key
            self.models = models
            self.connectTimeout = connectTimeout
            self.limits = limits
        }
    }

    /// What a model server speaks, and where.
    public enum Backend: Sendable, Equatable {
        /// Ollama's own API.
        case ollama(UpstreamURL)
        /// Nothing: the model is built in.
        case echo
    }
}
