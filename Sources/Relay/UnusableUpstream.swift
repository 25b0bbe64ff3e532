/// A model server of the list that this process cannot ask, for example because its key is missing.
///
/// Its names stay its own: prompts for them are refused, and never go to another server that does not list them.
public struct UnusableUpstream: Sendable, Equatable {
    let names: UpstreamNames
    /// Why it cannot be asked, in words for clients: part of a sentence, without addresses and secrets.
    let reason: String
    /// The same for the operator; goes to the log only.
    let detail: String

    /// Makes one.
    public init(_ names: UpstreamNames, reason: String, detail: String) {
        self.names = names
        self.reason = reason
        self.detail = detail
    }
}
