/// The policy for a reply without readers.
public enum DisconnectPolicy: Sendable, Hashable {
    /// The reply is generated to its end.
    case finish
    /// The reply is cancelled unless a reader returns within the duration; zero cancels it at once.
    case cancel(after: Duration)
}
