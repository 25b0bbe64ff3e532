/// What becomes of a reply that nobody reads any more.
public enum DisconnectPolicy: Sendable, Hashable {
    /// It is made to its end all the same.
    case finish
    /// It goes on for a while, for readers who come back; zero cancels it at once.
    case cancel(after: Duration)
}

/// What becomes of a reply whose process dies.
public enum InterruptPolicy: String, Sendable, CaseIterable {
    /// It is closed as interrupted, with the text that there is.
    case close
    /// Another process asks the model again, under the same name.
    case regenerate
}
