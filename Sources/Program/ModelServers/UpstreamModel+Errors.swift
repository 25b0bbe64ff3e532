import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdHTTP

/// The errors of answers that are passed on. They never contain the key of the server.
extension UpstreamModel {
    /// The error of an answer whose status is not 2xx.
    ///
    /// - Parameter path: the path of the request.
    public func error(of head: ResponseHead, body: [UInt8], at path: String) -> ModelError {
        var error = ModelError(
            status: head.status, report: UpstreamErrorBody(body.span),
            unknownPath: "\(path): is it of the kind that its description says?")
        error.retryAfter = head.fields.retryAfter(now: now() / 1_000_000_000)
        return error.concealing(key)
    }

    /// The error that the server has reported in an answer with the status 200.
    public func error(inAnswer body: [UInt8]) -> ModelError {
        ModelError(inAnswer: UpstreamErrorBody(body.span)).concealing(key)
    }

    /// The error of bytes that are no answer; `reason` completes "The model server's answer cannot be read:".
    public func malformed(_ reason: String) -> ModelError { .malformed(reason) }

    /// The error of a body that ended before the answer; `hasBegun` says whether it had a part of the answer.
    public func incomplete(hasBegun: Bool) -> ModelError { .incomplete(hasBegun: hasBegun) }
}
