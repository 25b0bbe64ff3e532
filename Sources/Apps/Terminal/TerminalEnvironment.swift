import ChatterClient
import ChatterdBasics

/// The settings of the program, from its environment and options.
struct TerminalEnvironment: Equatable {
    static let defaultURL = "http://127.0.0.1:8080"
    static let defaultApp = "terminal"

    /// The server.
    let url: String
    let credential: Credential
    /// The model of prompts; `nil` for the server's default.
    let model: String?
    /// The file of entered lines; `nil` for none.
    let historyPath: String?
    /// Whether colours are forbidden.
    let hasNoColor: Bool
    /// How long the server is tried.
    let retries: RetryPolicy

    /// The longest time to try a server that has not accepted the prompt yet.
    private static let longestStart = Duration.seconds(3)
    private static let defaultResumeTimeout = Duration.seconds(600)

    init(_ variables: [String: String], url: String? = nil, app: String? = nil) throws(UsageError) {
        func value(_ name: String) -> String? {
            variables[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        self.url = url ?? value("CHATTER_URL") ?? Self.defaultURL
        credential =
            if let key = value("CHATTER_KEY"), app == nil {
                .bearer(key)
            } else {
                .app(app ?? value("CHATTER_APP") ?? Self.defaultApp)
            }
        model = value("CHATTER_MODEL")
        hasNoColor = value("NO_COLOR") != nil || variables["TERM"] == "dumb"
        var resumeTimeout = Self.defaultResumeTimeout
        if let text = value("CHATTER_RESUME_TIMEOUT") {
            guard let seconds = TimeText.seconds(text) else {
                throw UsageError("CHATTER_RESUME_TIMEOUT must be a time such as 90s or 12h, not \"\(text)\"")
            }
            resumeTimeout = .seconds(seconds)
        }
        retries = RetryPolicy(start: min(Self.longestStart, resumeTimeout), resumption: resumeTimeout)
        historyPath =
            if let path = variables["CHATTER_HISTORY"] {
                path.isEmpty ? nil : path
            } else if let state = value("XDG_STATE_HOME") {
                "\(state)/chatter/history"
            } else {
                value("HOME").map { "\($0)/.local/state/chatter/history" }
            }
    }
}
