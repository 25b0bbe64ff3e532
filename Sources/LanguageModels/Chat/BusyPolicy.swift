/// The policy for a prompt that comes while another one of its conversation is being answered.
public enum BusyPolicy: String, Sendable, CaseIterable {
    /// The prompt waits for the end of the running replies.
    case wait
    /// The prompt is refused, and not stored.
    case refuse
    /// The running replies are stopped and keep their text. The prompt follows them.
    case stop
    /// The running replies are stopped. The prompt takes the place of the first of them, whose turn leaves the branch.
    case replace
}
