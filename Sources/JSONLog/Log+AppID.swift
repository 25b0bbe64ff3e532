extension Log {
    /// How a request line shows the appID.
    public enum AppID: String, Sendable, CaseIterable {
        /// Twelve hexadecimal digits, which have a meaning within the process only.
        case hash
        /// Unchanged.
        case plain
        /// The line has no appID.
        case none
    }
}
