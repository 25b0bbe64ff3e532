import ChatterdHTTPClient
import ChatterdLanguageModels

extension UpstreamDescription {
    /// Where requests go: the URL in any of its usual forms, with the base path that its kind has.
    ///
    /// Kind `ollama`: `/api`, `/v1` and the paths of single calls below them are left out. Kind `openai`: the path of a call is
    /// left out; what remains is the base, `/v1` if nothing does. Kind `llamastack`: what begins with `/v1` at the end is left
    /// out.
    ///
    /// - Throws: `invalidURL`; the message never repeats the URL, which may hold a secret.
    public func origin() throws(HTTPClientError) -> Origin {
        let origin = try Origin(parsing: url)
        return origin.at(kind.basePath(of: origin.basePath))
    }
}

extension UpstreamDescription.Kind {
    /// The base path that is meant by the path of a URL.
    func basePath(of path: String) -> String {
        switch self {
        case .echo:
            return path
        case .ollama:
            return path.dropping([
                "/api/chat", "/api/generate", "/api/tags", "/api", "/v1/chat/completions", "/v1/models", "/v1",
            ])
        case .openai:
            // What other kinds are found at is no base of this one.
            let base = path.dropping([
                "/api/chat", "/api/generate", "/api/tags", "/chat/completions", "/completions", "/models",
            ])
            return base.isEmpty ? "/v1" : base
        case .llamastack:
            return path.dropping(["/v1/inference/chat-completion", "/v1/inference", "/v1/models", "/v1"])
        }
    }
}

extension String {
    /// The text without the first of some endings that it has.
    fileprivate func dropping(_ endings: [String]) -> String {
        endings.first { hasSuffix($0) }.map { String(dropLast($0.count)) } ?? self
    }
}
