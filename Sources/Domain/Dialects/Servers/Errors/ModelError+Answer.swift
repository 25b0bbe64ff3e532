import ChatterdChat

extension ModelError {
    /// The bytes are not an answer of the dialect; `reason` completes "The model server's answer cannot be read:".
    public static func malformed(_ reason: String, detail: String = "") -> ModelError {
        ModelError(
            .malformed, "The model server's answer cannot be read: \(reason).", detail: detail.isEmpty ? reason : detail
        )
    }

    /// The body ended before the answer did; `hasBegun` says whether it had a part of the answer.
    public static func incomplete(hasBegun: Bool) -> ModelError {
        guard !hasBegun else {
            return ModelError(
                .incomplete, "The model server ended its answer before it was complete.",
                detail: "the body ended before the answer did")
        }
        var error = ModelError(
            .incomplete, "The model server's answer was empty.", detail: "the body ended before the answer did")
        // llama-cpp-python gives this answer to a prompt that exceeds its context.
        error.hint = .context
        return error
    }

    /// The answer exceeds the limit of its size.
    public static func answerTooLarge(_ limits: GenerationLimits) -> ModelError {
        ModelError(
            .answerTooLarge, "The answer grew beyond \(limits.answer) bytes, and was ended.",
            detail: "more than \(limits.answer) bytes")
    }

    /// The answer took longer than `limit` as a whole.
    public static func totalTimeout(_ limit: Duration) -> ModelError {
        ModelError(
            .totalTimeout, "The answer took longer than \(limit), and was ended.", detail: "no end within \(limit)")
    }

    /// No byte of an answer came within `limit`.
    public static func firstByteTimeout(_ limit: Duration) -> ModelError {
        ModelError(
            .firstByteTimeout, "The model server did not begin to answer within \(limit).",
            detail: "no byte within \(limit)")
    }

    /// The answer paused for `limit`.
    public static func silenceTimeout(_ limit: Duration) -> ModelError {
        ModelError(
            .silenceTimeout, "The model server stopped sending in the middle of its answer.",
            detail: "no byte for \(limit)")
    }

    /// Whether the error may come from a wrong description of the server.
    public var mayBeMisdescribed: Bool { code == .rejected || code == .malformed || code == .modelNotFound }
}
