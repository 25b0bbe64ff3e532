import ChatterdIdentity

/// Which calls of a tool wait until a person has approved them.
public enum Approval: String, Sendable, CaseIterable {
    case never
    case always
    /// Those of tools that may change something.
    case writes
}

/// Who may use a tool, and the limits of its calls.
public struct ToolTerms: Sendable {
    /// The apps that may use the tool.
    public var apps = AppSelection()
    /// The limit of a call.
    public var timeout = Duration.seconds(30)
    /// The limit of a result, in bytes.
    public var maximumSize = 64 << 10
    /// Whether a call whose outcome is unknown is repeated, with the same key.
    public var isIdempotent = false
    /// Which calls wait until a person has approved them.
    public var approval = Approval.never
    /// Whether calls run beside others of the same answer.
    public var isParallel = false

    public init() {}
}
