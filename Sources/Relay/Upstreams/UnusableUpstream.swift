/// A listed model server that this process cannot ask, for example because its key is missing.
///
/// The server keeps its names: prompts for them fail, and do not go to another server that does not list them.
public struct UnusableUpstream: Sendable, Equatable {
    let names: UpstreamNames
    /// The reason for clients, as part of a sentence, without addresses and secrets.
    let reason: String
    /// The reason for the operator; only the log has it.
    let detail: String

    public init(_ names: UpstreamNames, reason: String, detail: String) {
        self.names = names
        self.reason = reason
        self.detail = detail
    }
}
