/// The keys of annotations, which handlers add to the log record of a request.
enum Annotation {
    static let appID = "app"
    /// The key of the conversation of a reply, of which the log has a digest.
    static let conversation = "conversation"
    static let code = "code"
    /// The paths of a request that have no effect.
    static let ignored = "ignored"
    /// The details of an error for the operator, logged as a separate event.
    static let detail = "detail"
}
