/// The policy for a reply whose process dies.
public enum InterruptPolicy: String, Sendable, CaseIterable {
    /// The reply ends as interrupted, with its text so far.
    case close
    /// Another process restarts the reply under the same id.
    case regenerate
}
