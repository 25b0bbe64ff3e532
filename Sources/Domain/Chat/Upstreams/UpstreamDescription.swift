/// The operator's description of a model server.
public struct UpstreamDescription: Sendable, Equatable {
    /// The dialect of a model server.
    public enum Kind: String, Sendable, CaseIterable {
        /// Ollama's own API.
        case ollama
        /// OpenAI's chat completions: vLLM, llama.cpp, LiteLLM, Llama Stack since 0.3, OpenAI itself.
        case openai
        /// The native API of Llama Stack up to 0.2.
        case llamastack
        /// The built-in model, without a server.
        case echo
    }

    /// How a model server continues an answer that another one began.
    public enum Continuation: String, Sendable, CaseIterable {
        /// It cannot continue; the answer restarts.
        case none
        /// It continues a last message of the assistant: llama.cpp, Ollama with most templates.
        case prefill
        /// The same, if the request has `continue_final_message`: vLLM.
        case continueFinalMessage = "continue_final_message"
    }

    /// The source of a key. The key itself is never stored, sent to clients or logged.
    public enum Key: Sendable, Equatable {
        /// In a variable of the environment.
        case environment(String)
        /// In a file, without the white space around it.
        case file(String)
        /// In this process's own configuration.
        case given(String)
    }

    /// A header field of every request.
    public struct Field: Sendable, Equatable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Its name, unique among all.
    public var name: String
    /// Its dialect.
    public var kind: Kind
    /// Its base URL; empty for `echo`.
    public var url: String
    /// Its key, sent as `Authorization: Bearer`; `nil` sends none.
    public var key: Key?
    /// Further header fields of every request to it.
    public var fields: [Field] = []
    /// The path of a PEM file of certificate authorities to trust beside those of the system.
    public var authorities: String?
    /// Whether it may have a link-local address, like the metadata services of clouds.
    public var allowsLinkLocal = false
    /// Its models; empty for all models that no other server lists.
    public var models: [String] = []
    /// Further names of its models: the name in requests, and the name that the server knows.
    public var aliases: [String: String] = [:]
    /// The rank among the servers that have a model: the highest number is asked first.
    public var priority = 0
    /// The limit of answers at once; `nil` for no limit.
    public var slots: Int?
    /// The limit of replies that wait for a slot.
    public var queueLimit = 1_000
    /// Default members of requests: `options`, `keep_alive` …
    public var defaults: [RawMember] = []
    /// The context length of its models, prompt and answer together, in tokens; `nil` if unknown.
    public var contextLength: Int?
    /// How it continues an answer that another one began.
    public var continuation = Continuation.none
    /// The timeout of connecting.
    public var connectTimeout: Duration = .seconds(5)
    /// The limits of its answers.
    public var limits = GenerationLimits()

    public init(name: String, kind: Kind, url: String = "") {
        self.name = name
        self.kind = kind
        self.url = url
    }
}

extension UpstreamDescription.Key: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The source, or `(secret)` for a key itself.
    public var description: String {
        switch self {
        case .environment(let name): "in the variable \(name)"
        case .file(let path): "in the file \(path)"
        case .given: "(secret)"
        }
    }

    /// The same as `description`, so that a key is never printed.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` prints no key.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
