#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The calls of one message, which run at the same time.
struct ToolRound {
    let tools: [any Tool]
    let failure: LLMReplyOptions.ToolFailure

    /// Runs the calls. The outputs have the order of the calls.
    ///
    /// A tool that is slow is waited for; a cancelled reply cancels all of them.
    ///
    /// - Throws: `cancelled`; `toolFailed` if failures end the reply.
    func run(_ calls: [ToolCall]) async throws(LLMError) -> [ToolOutput] {
        do {
            return try await withThrowingTaskGroup(of: (Int, ToolOutput).self) { group in
                for (index, call) in calls.enumerated() {
                    group.addTask { (index, try await output(of: call)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            }
        } catch let error as LLMError {
            throw error
        } catch {
            throw .cancelled
        }
    }

    private func output(of call: ToolCall) async throws -> ToolOutput {
        guard let tool = tools.first(where: { $0.name == call.toolName }) else {
            let names = tools.map(\.name).joined(separator: ", ")
            return try failed(call, "There is no tool of this name. The tools are: \(names).")
        }
        do {
            return try await tool.output(for: call)
        } catch {
            if Task.isCancelled { throw LLMError.cancelled }
            return try failed(call, (error as? any LocalizedError)?.errorDescription ?? "\(error)")
        }
    }

    private func failed(_ call: ToolCall, _ reason: String) throws(LLMError) -> ToolOutput {
        guard failure == .report else { throw .toolFailed(name: call.toolName, reason) }
        return ToolOutput(id: call.id, toolName: call.toolName, "Error: \(reason)", isError: true)
    }
}
