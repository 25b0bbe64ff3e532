import ChatterdBasics
import ChatterdChat
import ChatterdHTTPClient

extension UpstreamDescription {
    /// The origin of requests: the URL in any of its usual forms, with the base path of its kind.
    ///
    /// Kind `ollama`: `/api`, `/v1` and the paths of single calls below them are removed. Kind `openai`: the path of a call is
    /// removed; an empty rest becomes `/v1`. Kind `llamastack`: an ending that starts with `/v1` is removed.
    ///
    /// - Throws: `invalidURL`; the message never repeats the URL, which may hold a secret.
    public func origin() throws(HTTPClientError) -> Origin {
        let origin = try Origin(parsing: url)
        return origin.at(kind.basePath(of: origin.basePath))
    }
}

extension UpstreamDescription.Kind {
    /// The base path that the path of a URL stands for.
    func basePath(of path: String) -> String {
        switch self {
        case .echo:
            return path
        case .ollama:
            return path.dropping([
                "/api/chat", "/api/generate", "/api/tags", "/api", "/v1/chat/completions", "/v1/models", "/v1",
            ])
        case .openai:
            // A path of another kind is no base of this one.
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
    /// The text without the first of the endings that it has.
    fileprivate func dropping(_ endings: [String]) -> String {
        endings.first { hasSuffix($0) }.map { String(dropLast($0.count)) } ?? self
    }
}
