/// What becomes of a reply that nobody reads any more.
public enum DisconnectPolicy: Sendable, Hashable {
    /// It is made to its end all the same.
    case finish
    /// It goes on for a while, for readers who come back; zero cancels it at once.
    case cancel(after: Duration)
}
