import ChatterdChat

/// The steps of a running reply in the store.
public struct StoredSteps: Sendable {
    /// The further members of its message, which begin with the steps; empty if there are none.
    public var members: [UInt8] = []
    /// The answers to its calls that waited for an approval.
    public var approvals = CallApprovals(parsing: "")

    /// Creates steps of a reply that has none.
    public init() {}

    public init(members: [UInt8], approvals: CallApprovals) {
        self.members = members
        self.approvals = approvals
    }
}
