import ChatterdHTTP
import ChatterdLanguageModels

extension ModelError {
    /// Makes the error of an answer with another status than 2xx.
    ///
    /// - Parameter unknownPath: the end of the sentence "The model server does not know …", for a 404 without words.
    init(status: Status, said: UpstreamErrorBody, unknownPath: String) {
        let words = said.words
        let detail = "status \(status.code)\((said.message ?? said.text).map { ": \($0)" } ?? "")"
        if said.isContextOverflow(status: status.code) {
            self.init(.contextTooLong, words ?? "The conversation is longer than what the model takes.", detail: detail)
            contextLength = said.contextLength
            promptTokens = said.promptTokens
            return
        }
        switch status.code {
        case 400... where said.isAboutKey:
            self.init(
                .unauthorized, "The model server refused access: its key must be corrected.",
                detail: "\(detail) (LiteLLM gives this error for a missing or wrong key)")
        case 401, 403:
            // Its own words may hold parts of the key.
            self.init(
                .unauthorized, "The model server refused access: its key must be corrected.", detail: detail)
        case let code where said.isAboutModel && (code == 400 || code == 404 || code == 422):
            self.init(.modelNotFound, words ?? "The model server does not have the model.", detail: detail)
        case 404 where said.isAboutPath:
            self.init(
                .rejected, "The model server does not know \(unknownPath)",
                detail: "\(detail) (`chatterd doctor` tries other kinds and paths)")
        case 300..<400:
            self.init(
                .malformed,
                "The model server answered with a redirect, which is not followed: its URL must be corrected.",
                detail: detail)
        case 429, 503, 529:
            self.init(.busy, words ?? "The model server is too busy. Try again in a moment.", detail: detail)
        case 500... where said.isAboutRequest:
            self.init(.rejected, words ?? Self.refused(status), detail: detail)
        case 408, 500...:
            self.init(.failed, words ?? "The model server failed with status \(status.code).", detail: detail)
        default:
            self.init(.rejected, words ?? Self.refused(status), detail: detail)
        }
        hint = Self.hint(status, said, code)
    }

    /// Makes the error that a server told in the middle of an answer, whose status said that all was well.
    init(inAnswer said: UpstreamErrorBody) {
        let words = said.words ?? "The model server failed in the middle of its answer."
        let detail = said.message ?? words
        guard !said.isContextOverflow else {
            self.init(.contextTooLong, words, detail: detail)
            contextLength = said.contextLength
            promptTokens = said.promptTokens
            return
        }
        self.init(said.isAboutRequest ? .rejected : .failed, words, detail: detail)
        if said.mentionsContext {
            hint = .context
        } else if code == .failed, let message = said.message, !said.isAboutServer {
            hint = .request("200 \(message)")
        }
    }

    private static func refused(_ status: Status) -> String {
        "The model server refused the request with status \(status.code)."
    }

    private static func hint(_ status: Status, _ said: UpstreamErrorBody, _ code: Code) -> Hint? {
        switch status.code {
        case 502, 503, 504:
            // A server explains its failures in the body. A proxy whose server is down sends a page.
            return said.message == nil || said.isLoading ? .restart(wasRead: status.code == 504) : nil
        case 500... where code == .failed && said.mentionsContext:
            return .context
        case 500... where code == .failed:
            guard let message = said.message, !said.isAboutServer else { return nil }
            return .request("\(status.code) \(message)")
        default:
            return nil
        }
    }
}
