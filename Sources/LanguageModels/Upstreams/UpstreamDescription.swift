/// A model server as its operator describes it.
public struct UpstreamDescription: Sendable, Equatable {
    /// What a model server speaks.
    public enum Kind: String, Sendable, CaseIterable {
        /// Ollama's own API.
        case ollama
        /// OpenAI's chat completions: vLLM, llama.cpp, LiteLLM, Llama Stack since 0.3, OpenAI itself.
        case openai
        /// The native API of Llama Stack up to 0.2.
        case llamastack
        /// Nothing: the model is built in.
        case echo
    }

    /// How a model server goes on with an answer that another one began.
    public enum Continuation: String, Sendable, CaseIterable {
        /// Not at all: the answer is begun anew.
        case none
        /// A last message of the assistant is gone on with: llama.cpp, Ollama with most templates.
        case prefill
        /// The same, when asked for by `continue_final_message`: vLLM.
        case continueFinalMessage = "continue_final_message"
    }

    /// Where a key is found. The key itself is never stored, sent to clients or logged.
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

        /// Makes a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Its name, unique among all.
    public var name: String
    /// What it speaks.
    public var kind: Kind
    /// Where it is; empty for `echo`.
    public var url: String
    /// The key that it wants, sent as `Authorization: Bearer`.
    public var key: Key?
    /// Further header fields of every request to it.
    public var fields: [Field] = []
    /// The path of a PEM file of authorities that its certificate may be of, beside those of the system.
    public var authorities: String?
    /// Whether it may be at a link-local address, where clouds have their metadata services.
    public var allowsLinkLocal = false
    /// The models that it is asked for; empty when it is asked for any that no other one claims.
    public var models: [String] = []
    /// Other names of its models.
    public var aliases: [String: String] = [:]
    /// Among those that have a model, the one with the greatest number is asked first.
    public var priority = 0
    /// Answers that it makes at once; nothing for as many as there are.
    public var slots: Int?
    /// Replies that may wait for a slot.
    public var queueLimit = 1_000
    /// Members of a request that does not have them: `options`, `keep_alive` …
    public var defaults: [RawMember] = []
    /// The tokens that its models take, prompt and answer together; nothing when unknown.
    public var contextLength: Int?
    /// How it goes on with an answer that another one began.
    public var continuation = Continuation.none
    /// The time to connect.
    public var connectTimeout: Duration = .seconds(5)
    /// The limits of its answers.
    public var limits = GenerationLimits()

    /// Makes a description.
    public init(name: String, kind: Kind, url: String = "") {
        self.name = name
        self.kind = kind
        self.url = url
    }
}

extension UpstreamDescription.Key: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Where it is found, or `(secret)`.
    public var description: String {
        switch self {
        case .environment(let name): "in the variable \(name)"
        case .file(let path): "in the file \(path)"
        case .given: "(secret)"
        }
    }

    /// The same.
    public var debugDescription: String { description }

    /// Nothing, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
