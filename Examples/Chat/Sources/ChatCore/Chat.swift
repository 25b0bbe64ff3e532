import ChatterClient
import Observation

/// A conversation as a screen shows it. Its answers survive lost connections, and an app that was suspended or ended.
@MainActor @Observable
public final class Chat {
    public private(set) var turns: [Turn] = []
    /// The name of the conversation on the server.
    public let conversation: String
    private let client: ChatterClient
    private let model: String
    private let file: ChatFile?
    /// Whether a task reads the last answer. After the end of the app none does, and the answer is continued.
    private var isReading = false

    /// Continues the conversation of the file, or begins one.
    ///
    /// - Parameter file: where the conversation is kept; `nil` forgets it.
    public init(client: ChatterClient, model: String, file: ChatFile? = nil) {
        self.client = client
        self.model = model
        self.file = file
        let saved = file?.read()
        conversation = saved?.conversation ?? Conversation.randomName()
        turns = (saved?.turns ?? []).enumerated().map { index, turn in
            Turn(id: index, prompt: turn.prompt, key: turn.key, answer: turn.answer)
        }
    }

    /// Shows a conversation of the server, with its last messages.
    public init(
        _ name: String, client: ChatterClient, model: String, file: ChatFile? = nil
    ) async throws(ChatterError) {
        self.client = client
        self.model = model
        self.file = file
        conversation = name
        for message in try await client.messages(of: name).messages where message.active {
            if message.role == "user" {
                turns.append(Turn(id: turns.count, prompt: message.content, text: ""))
            } else if message.role == "assistant", let prompt = turns.popLast()?.prompt {
                turns.append(
                    Turn(
                        id: turns.count, prompt: prompt, text: message.content,
                        running: message.state == .streaming ? message.id : nil))
            }
        }
    }

    /// Whether an answer is under way, from the tap of the button on.
    public var isAnswering: Bool { turns.last?.phase == .running }

    /// Sends a prompt, and shows its answer while it grows. Nothing happens without a text, or while an answer is under way.
    public func send(_ text: String) async {
        guard !isAnswering, text.contains(where: { !$0.isWhitespace }) else { return }
        let prompt = Prompt(text, in: conversation, model: model)
        let turn = Turn(id: turns.count, prompt: text, key: prompt.idempotencyKey, answer: nil)
        turns.append(turn)
        save()
        await read(client.snapshots(of: prompt), for: turn)
    }

    /// Continues the last answer where it was stored: after a suspension of the app, or its end.
    public func resume() async {
        guard let turn = turns.last, turn.phase == .running, !isReading else { return }
        if let answer = turn.answer, answer.reply != nil {
            await read(client.snapshots(continuing: answer), for: turn)
        } else {
            // The server may have the prompt already: it stores a key once.
            let prompt = Prompt(turn.prompt, in: conversation, model: model, idempotencyKey: turn.key)
            await read(client.snapshots(of: prompt), for: turn)
        }
    }

    /// Asks again after a failure.
    public func retry() async {
        guard let turn = turns.last, turn.phase == .failed(isRetryable: true) else { return }
        turn.begin()
        if let reply = turn.answer?.reply {
            do {
                guard let next = try await attempt(after: reply) else { return turn.fail(.cancelled) }
                await read(client.snapshots(continuing: Answer(to: next)), for: turn)
            } catch {
                turn.fail(error as? ChatterError ?? .cancelled)
            }
        } else {
            await resume()
        }
    }

    /// Begins another attempt, which the server finishes without its reader.
    private func attempt(after reply: ReplyID) async throws -> ReplyID? {
        for try await event in client.regenerate(reply) {
            if case .started(let id) = event { return id }
        }
        return nil
    }

    /// Stops the answer that is under way. Its text so far stays.
    public func stop() async {
        guard let turn = turns.last, turn.phase == .running, let reply = turn.answer?.reply else { return }
        do throws(ChatterError) {
            _ = try await client.stop(reply)
        } catch {
            turn.fail(error)
        }
    }

    /// Stores the conversation. An app calls this when it leaves the foreground.
    public func save() {
        file?.write(
            SavedChat(
                conversation: conversation,
                turns: turns.map { SavedChat.Turn(prompt: $0.prompt, key: $0.key, answer: $0.answer) }))
    }

    private func read(_ snapshots: AsyncThrowingStream<Answer, any Error>, for turn: Turn) async {
        isReading = true
        defer {
            isReading = false
            save()
        }
        do {
            for try await answer in snapshots {
                let isNew = turn.answer?.reply == nil
                turn.show(answer)
                if isNew { save() }
            }
            turn.finish()
        } catch let error as ChatterError {
            turn.fail(error)
        } catch {
            turn.fail(.cancelled)
        }
    }
}
