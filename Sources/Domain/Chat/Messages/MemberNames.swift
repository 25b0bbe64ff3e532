import ChatterdBasics

/// Names of members with a meaning here or in the request to a model server.
///
/// Go's encoding/json, and so Ollama, ignores case, and uses the last of several equal names. `Model` in a request would select
/// another model than the router does. The decoder refuses such names.
struct MemberNames {
    /// Limit of a member name for the model server, in bytes of UTF-8, because errors of model servers repeat it.
    static let maximumLength = 128

    /// The names in a request to `/llmchat`.
    static let ofRequest = MemberNames([
        "appID", "conversation", "model", "messages", "stream", "parent", "on_disconnect", "on_interrupt",
        "when_busy", "queue_events", "step_events", "options",
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

    /// The known name that differs from `name` in case only; `nil` for an exact or unknown name.
    func misspelled(_ name: String) -> String? {
        guard let exact = names[Self.fold(name)], exact != name else { return nil }
        return exact
    }

    /// Folds case as Go does for ASCII names (`foldName` in encoding/json, Unicode's CaseFolding.txt): upper-case letters, the
    /// Kelvin sign and the long s.
    private static func fold(_ name: String) -> String {
        // Most names are their own folded form.
        if name.utf8.allSatisfy({ $0 < 0x80 && !(0x41...0x5A).contains($0) }) { return name }
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
