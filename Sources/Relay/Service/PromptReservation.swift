import ChatterdLanguageModels

/// The reservations of a prompt until its turn is opened: a turn of its conversation, and an admission to a model server.
struct PromptReservation {
    var appID: String
    /// The idempotency key that the prompt reserves.
    var key: String?
    /// The server whose queue counts the prompt; `nil` if none does.
    var admission: UpstreamDescription?
}
