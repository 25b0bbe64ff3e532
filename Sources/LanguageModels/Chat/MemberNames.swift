/// Names of members that mean something here or in the request to a model server.
///
/// Go's encoding/json, and so Ollama, reads names without regard to case, and of two alike the last one counts: `Model` in a
/// request would ask another model than the one that the request was routed by. Such names are refused.
struct MemberNames {
    /// The bytes that the name of a member for the model server may have, in UTF-8: errors of model servers repeat it.
    static let maximumLength = 128

    /// The names in a request to `/llmchat`.
    static let ofRequest = MemberNames([
        "appID", "model", "messages", "stream", "parent", "on_disconnect", "on_interrupt", "queue_events", "options",
        "format", "think", "tools", "keep_alive", "stream_options", "n", "max_tokens", "max_completion_tokens",
    ])

    /// The names in its `options`, which are members of the request for servers of kind `openai`.
    static let ofOptions = MemberNames([
        "model", "messages", "stream", "stream_options", "tools", "n", "num_ctx", "num_predict", "max_tokens",
        "max_completion_tokens",
    ])

    /// The names by their folded form.
    private let names: [String: String]

    private init(_ names: [String]) {
        self.names = Dictionary(uniqueKeysWithValues: names.map { (Self.fold($0), $0) })
    }

    /// The name that another one is alike but for case; nil when there is none, or they are the same.
    func misspelled(_ name: String) -> String? {
        guard let exact = names[Self.fold(name)], exact != name else { return nil }
        return exact
    }

    /// Folds case as Go does for names in ASCII (`foldName` in encoding/json, Unicode's CaseFolding.txt): beside the letters in
    /// upper case the Kelvin sign and the long s.
    private static func fold(_ name: String) -> String {
        var folded = ""
        folded.unicodeScalars.append(
            contentsOf: name.unicodeScalars.map { scalar in
                switch scalar {
                case "A"..."Z": Unicode.Scalar(UInt8(scalar.value) | 0x20)
                case "\u{212A}": "k"
                case "\u{17F}": "s"
                default: scalar
                }
            })
        return folded
    }
}
