import ChatterClient
import Observation

/// A conversation as a screen shows it. Its answers survive lost connections.
@MainActor @Observable
public final class Chat {
    /// A prompt with its answer.
    public struct Turn: Identifiable, Sendable {
        public let id: Int
        public let prompt: String
        public var answer = ""
        /// A sentence about a connection that is lost at the moment, or about the failure of the answer.
        public var notice: String?
    }

    public private(set) var turns: [Turn] = []
    /// The reply that is being generated; `nil` if none is.
    public private(set) var running: ReplyID?
    private let client: ChatterClient
    private let model: String
    private let conversation = Conversation.randomName()

    public init(client: ChatterClient, model: String) {
        self.client = client
        self.model = model
    }

    /// Sends a prompt, and shows its answer while it grows.
    public func send(_ prompt: String) async {
        let index = turns.count
        turns.append(Turn(id: index, prompt: prompt))
        defer { running = nil }
        do {
            for try await answer in client.snapshots(of: Prompt(prompt, in: conversation, model: model)) {
                running = answer.reply
                turns[index].answer = answer.text
                turns[index].notice = answer.interruption?.message
            }
        } catch let error as ChatterError {
            turns[index].notice = error.message
        } catch {
            turns[index].notice = "\(error)"
        }
    }

    /// Stops the answer that is being generated. Its text so far stays.
    public func stop() async {
        guard let running else { return }
        do {
            try await client.stop(running)
        } catch {
            turns[turns.count - 1].notice = error.message
        }
    }
}
