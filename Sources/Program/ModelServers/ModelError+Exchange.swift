import ChatterdChat
import ChatterdDialects
import ChatterdHTTPClient

extension ModelError {
    /// Creates the error of an exchange that failed.
    public init(_ error: HTTPClientError) {
        switch error.code {
        case .connectTimedOut:
            self.init(
                .connectTimeout, "The model server cannot be reached: no connection in time.", detail: error.message)
        case .cut:
            self.init(
                .incomplete, "The connection to the model server broke in the middle of its answer.",
                detail: error.message)
        case .malformed:
            self.init(.malformed, "The model server's answer cannot be read: it is not HTTP.", detail: error.message)
        case .reset:
            self.init(.unavailable, "The model server closed the connection before it answered.", detail: error.message)
            hint = .restart(wasRead: true)
        case .tls:
            self.init(
                .unavailable,
                "The model server cannot be reached safely: its certificate, or a file of authorities, must be corrected.",
                detail: error.message)
        case .forbiddenAddress:
            self.init(
                .unavailable,
                "The model server is at a link-local address or where clouds keep their metadata: it is asked only if its "
                    + "description says allow_link_local.",
                detail: error.message)
        case .refused, .unresolvable:
            self.init(.unavailable, "The model server cannot be reached.", detail: error.message)
            hint = .restart(wasRead: false)
        case .invalidURL, .other:
            self.init(.unavailable, "The model server cannot be reached.", detail: error.message)
        }
    }
}
