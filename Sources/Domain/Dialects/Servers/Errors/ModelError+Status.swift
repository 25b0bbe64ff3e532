import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

extension ModelError {
    /// Creates the error of an answer whose status is not 2xx.
    ///
    /// - Parameter unknownPath: the end of the sentence "The model server does not know …", for a 404 without a message.
    public init(status: Status, report: UpstreamErrorBody, unknownPath: String) {
        let message = report.clientMessage
        let detail = "status \(status.code)\((report.message ?? report.text).map { ": \($0)" } ?? "")"
        if report.isContextOverflow(status: status.code) {
            self.init(
                .contextTooLong, message ?? "The conversation exceeds the model's context.", detail: detail)
            contextLength = report.contextLength
            promptTokens = report.promptTokens
            return
        }
        switch status.code {
        case 400... where report.isAboutKey:
            self.init(
                .unauthorized, "The model server refused access: its key must be corrected.",
                detail: "\(detail) (LiteLLM gives this error for a missing or wrong key)")
        case 401, 403:
            // The server's own message may contain parts of the key.
            self.init(
                .unauthorized, "The model server refused access: its key must be corrected.", detail: detail)
        case let code where report.isAboutModel && (code == 400 || code == 404 || code == 422):
            self.init(.modelNotFound, message ?? "The model server does not have the model.", detail: detail)
        case 404 where report.isAboutPath:
            self.init(
                .rejected, "The model server does not know \(unknownPath)",
                detail: "\(detail) (`chatterd doctor` tries other kinds and paths)")
        case 300..<400:
            self.init(
                .malformed,
                "The model server answered with a redirect, which is not followed: its URL must be corrected.",
                detail: detail)
        case 429, 503, 529:
            self.init(.busy, message ?? "The model server is too busy. Try again in a moment.", detail: detail)
        case 500... where report.isAboutRequest:
            self.init(.rejected, message ?? Self.refused(status), detail: detail)
        case 408, 500...:
            self.init(.failed, message ?? "The model server failed with status \(status.code).", detail: detail)
        default:
            self.init(.rejected, message ?? Self.refused(status), detail: detail)
        }
        hint = Self.hint(status, report, code)
    }

    /// Creates the error that a server reported in the middle of an answer with the status 200.
    public init(inAnswer report: UpstreamErrorBody) {
        let message = report.clientMessage ?? "The model server failed in the middle of its answer."
        let detail = report.message ?? message
        guard !report.isContextOverflow else {
            self.init(.contextTooLong, message, detail: detail)
            contextLength = report.contextLength
            promptTokens = report.promptTokens
            return
        }
        self.init(report.isAboutRequest ? .rejected : .failed, message, detail: detail)
        if report.mentionsContext {
            hint = .context
        } else if code == .failed, let message = report.message, !report.isAboutServer {
            hint = .request("200 \(message)")
        }
    }

    private static func refused(_ status: Status) -> String {
        "The model server refused the request with status \(status.code)."
    }

    private static func hint(_ status: Status, _ report: UpstreamErrorBody, _ code: Code) -> Hint? {
        switch status.code {
        case 502, 503, 504:
            // A server explains its failures in the body. A proxy whose server is down sends a page.
            return report.message == nil || report.isLoading ? .restart(wasRead: status.code == 504) : nil
        case 400... where code == .rejected && report.isAboutThinking:
            return .thinking
        case 500... where code == .failed && report.mentionsContext:
            return .context
        case 500... where code == .failed:
            guard let message = report.message, !report.isAboutServer else { return nil }
            return .request("\(status.code) \(message)")
        default:
            return nil
        }
    }
}
