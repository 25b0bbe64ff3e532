import ChatterdChat
import ChatterdRelay

/// Tools whose results the test gives.
final class ScriptedTools: ToolRunner {
    /// A call that has begun.
    final class Run {
        let name: String
        let arguments: String
        let key: String
        private let completion: (ToolResult) -> Void
        fileprivate(set) var isCancelled = false

        init(_ call: AnswerSteps.Call, key: String, _ completion: @escaping (ToolResult) -> Void) {
            name = call.name
            arguments = String(decoding: call.arguments, as: UTF8.self)
            self.key = key
            self.completion = completion
        }

        /// Ends the call.
        func end(_ text: String, isError: Bool = false) {
            completion(ToolResult(text: Array(text.utf8), isError: isError))
        }
    }

    /// All calls, in the order in which they have begun.
    private(set) var runs: [Run] = []
    /// The tools that no app may use.
    var refused: [String] = []
    var idempotent: [String] = []
    var parallel: [String] = []
    /// The tools whose calls need an approval.
    var asking: [String] = []

    /// The same tools in another process.
    func ofAnotherProcess() -> ScriptedTools {
        let tools = ScriptedTools()
        (tools.idempotent, tools.parallel, tools.asking) = (idempotent, parallel, asking)
        return tools
    }

    func isOffered(_ name: String, to app: String) -> Bool { !refused.contains(name) }
    func isIdempotent(_ name: String) -> Bool { idempotent.contains(name) }
    func needsApproval(_ name: String) -> Bool { asking.contains(name) }
    func isParallel(_ name: String) -> Bool { parallel.contains(name) }

    func start(_ call: AnswerSteps.Call, key: String, completion: @escaping (ToolResult) -> Void) -> () -> Void {
        let run = Run(call, key: key, completion)
        runs.append(run)
        return { run.isCancelled = true }
    }
}
