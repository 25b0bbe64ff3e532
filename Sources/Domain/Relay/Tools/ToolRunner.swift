import ChatterdChat

/// Runs the tools of the server for answers. Confined to its shard.
public protocol ToolRunner: AnyObject {
    /// Whether the process has the tool, and an app may use it.
    func isOffered(_ name: String, to app: String) -> Bool
    /// Whether a call whose outcome is unknown is repeated with the same key.
    func isIdempotent(_ name: String) -> Bool
    /// Whether a call of the tool needs the approval of a person.
    func needsApproval(_ name: String) -> Bool
    /// Whether calls of the tool run beside others.
    func isParallel(_ name: String) -> Bool

    /// Starts a call. A call that cannot be made, fails or takes too long has a result too: the model reads it.
    ///
    /// - Parameters:
    ///   - key: names the call. A repetition after the loss of a process has the same key.
    ///   - completion: is called once, on the shard and after this call has returned, unless the call is cancelled.
    /// - Returns: cancels the call.
    func start(
        _ call: AnswerSteps.Call, key: String, completion: @escaping (ToolResult) -> Void
    ) -> () -> Void
}

/// The end of a call of a tool.
public struct ToolResult: Sendable {
    /// What the model reads, in UTF-8.
    public let text: [UInt8]
    /// Whether the tool has failed or refused the call.
    public let isError: Bool

    public init(text: [UInt8], isError: Bool) {
        self.text = text
        self.isError = isError
    }

    /// A failure with its reason.
    public static func failure(_ reason: String) -> ToolResult {
        ToolResult(text: Array("Error: \(reason)".utf8), isError: true)
    }
}
