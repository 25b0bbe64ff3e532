/// What becomes of a reply whose process dies.
public enum InterruptPolicy: String, Sendable, CaseIterable {
    /// It is closed as interrupted, with the text that there is.
    case close
    /// Another process asks the model again, under the same name.
    case regenerate
}
