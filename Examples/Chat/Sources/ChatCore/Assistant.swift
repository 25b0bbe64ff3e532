import ChatterMacros

/// A tool: the model asks for the roll of dice.
public struct DiceTool: Tool {
    public let name = "roll"
    public let description = "Rolls dice, and returns their eyes."

    @Generable
    public struct Arguments {
        @Guide(description: "How many dice", .range(1...6))
        public let count: Int
    }

    /// The eyes of one roll.
    private let roll: @Sendable () -> Int

    public init(roll: @escaping @Sendable () -> Int = { Int.random(in: 1...6) }) {
        self.roll = roll
    }

    public func call(arguments: Arguments) async throws -> String {
        (0..<arguments.count).map { _ in "\(roll())" }.joined(separator: ", ")
    }
}

/// Answers a prompt with the tool.
///
/// - Parameter show: gets a line for each call, and pieces of the answer.
/// - Returns: the reason of a failure, a sentence for people; `nil` for none.
public func play(_ prompt: String, with tool: DiceTool, by llm: any LLM, show: (String) -> Void) async -> String? {
    let session = llm.makeSession(tools: [tool])
    do {
        for try await event in session.events(replyingTo: prompt) {
            switch event {
            case .toolCall(let call): show("[\(call.toolName) \(call.arguments.json)]\n")
            case .toolOutput(let output): show("[\(output.text)]\n")
            case .textDelta(let piece): show(piece)
            default: break
            }
        }
        return nil
    } catch {
        return (error as? LLMError)?.message ?? "\(error)"
    }
}
