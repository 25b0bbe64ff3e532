import ChatterdBasics
import ChatterdChat
import ChatterdDialects
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
        return origin.at(kind.dialect(at: origin.host).basePath(of: origin.basePath))
    }
}
