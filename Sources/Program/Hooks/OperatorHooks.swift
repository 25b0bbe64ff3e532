import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay
import ChatterdSockets

/// The hooks of the operator on one shard. Confined to its shard.
public final class OperatorHooks: HookRunner {
    /// The limit of the reason of a refusal, in bytes.
    static let maximumReason = 1_000

    public let memory: MemoryBudget
    private let hooks: [Hook]
    /// The limit of a text in place of an answer, in bytes.
    private let maximumText: Int
    private let client: HookClient
    private let shard: Shard
    /// Nanoseconds since 1970.
    private let now: () -> Int64
    private let makeID: () -> String
    private let observe: (HookCall) -> Void

    /// Creates the hooks of a shard, on any thread.
    ///
    /// - Parameters:
    ///   - memory: counts the answers that are held.
    ///   - maximumText: the limit of a text in place of an answer, in bytes.
    ///   - now: nanoseconds since 1970.
    ///   - makeID: a new id of a message.
    ///   - observe: gets each call of a hook that has ended, on the shard.
    public init(
        _ hooks: [Hook], on shard: Shard, memory: MemoryBudget, maximumText: Int, now: @escaping () -> Int64,
        makeID: @escaping () -> String,
        observe: @escaping (HookCall) -> Void = { _ in }
    ) {
        self.hooks = hooks
        self.shard = shard
        self.memory = memory
        self.maximumText = maximumText
        self.now = now
        self.makeID = makeID
        self.observe = observe
        client = HookClient(on: shard)
    }

    public func reviewsPrompts(of app: String) -> Bool { hooks.contains { $0.gets(.prompt, of: app) } }

    public func reviewsAnswers(of app: String) -> Bool { hooks.contains { $0.gets(.answer, of: app) } }

    // MARK: - Prompts

    public func review(
        _ request: ChatRequest, in conversation: ConversationKey
    ) async throws(RelayError) -> [ModelMessage] {
        var request = request
        for hook in hooks where hook.gets(.prompt, of: conversation.owner.app) {
            let (prompt, id, time) = (request, makeID(), now())
            let size = prompt.messages.reduce(0) { $0 + $1.content.utf8.count + ($1.extras?.utf8.count ?? 0) }
            let message = await LongWork.run(on: size) {
                HookMessage.prompt(prompt, in: conversation, id: id, at: time)
            }
            switch await verdict(of: hook, on: message, about: .prompt, replacement: HookVerdict.messages) {
            case .allow: break
            case .replace(let others): request.messages = others
            case .refuse(let reason):
                throw RelayError(.promptRefused, reason ?? "The prompt was refused by the rules of this server.")
            case nil: throw Self.failed
            }
        }
        return request.messages
    }

    // MARK: - Answers

    public func review(
        _ answer: ReviewedAnswer, completion: @escaping (Result<[UInt8]?, RelayError>) -> Void
    ) -> () -> Void {
        let own = Confined((hooks: self, completion: completion), to: shard)
        let task = Task(executorPreference: shard) {
            let result = await own.value.hooks.review(answer)
            guard !Task.isCancelled else { return }
            own.value.completion(result)
        }
        return { task.cancel() }
    }

    private func review(_ answer: ReviewedAnswer) async -> Result<[UInt8]?, RelayError> {
        var text: [UInt8]?
        for hook in hooks where hook.gets(.answer, of: answer.conversation.owner.app) {
            let present =
                text.map {
                    ReviewedAnswer(
                        reply: answer.reply, conversation: answer.conversation, model: answer.model, text: $0)
                } ?? answer
            let (id, time) = (makeID(), now())
            let message = await LongWork.run(on: present.size) { HookMessage.answer(present, id: id, at: time) }
            switch await verdict(
                of: hook, on: message, about: .answer,
                replacement: { [maximumText] (answer) throws(UsageError) in
                    try HookVerdict.text(answer, upTo: maximumText)
                })
            {
            case .allow: break
            case .replace(let other): text = other
            case .refuse(let reason):
                let message = reason ?? "The answer was refused by the rules of this server."
                return .failure(RelayError(.answerRefused, message))
            case nil: return .failure(Self.failed)
            }
        }
        return .success(text)
    }

    // MARK: - Verdicts

    private static var failed: RelayError {
        RelayError(.hookFailed, "The server that checks prompts and answers does not answer. Try again later.")
    }

    /// The verdict of a hook; `nil` if it has failed and must not.
    private func verdict<Replacement: Sendable>(
        of hook: Hook, on message: HookMessage, about event: Hook.Event,
        replacement: @escaping @Sendable (JSONSlice) throws(UsageError) -> Replacement
    ) async -> HookVerdict<Replacement>? {
        let start = shard.now
        func end(_ outcome: HookCall.Outcome) {
            observe(HookCall(hook: hook.name, event: event, time: shard.now - start, outcome: outcome))
        }
        do throws(UsageError) {
            let answer = try await client.send(message, to: hook)
            let verdict = try await LongWork.run(on: answer.count) { () throws(UsageError) in
                try HookVerdict(answer, replacement: replacement)
            }
            end(verdict.outcome)
            return verdict
        } catch {
            if !Task.isCancelled { end(.failed(reason: "\(error)")) }
            return hook.onFailure == .allow ? .allow : nil
        }
    }
}

/// What a hook has decided.
enum HookVerdict<Replacement: Sendable>: Sendable {
    case allow
    /// With the reason, if it says one.
    case refuse(String?)
    case replace(Replacement)

    fileprivate var outcome: HookCall.Outcome {
        switch self {
        case .allow: .allowed
        case .refuse: .refused
        case .replace: .replaced
        }
    }

    /// Reads the answer of a hook: an object with an `action`, or nothing, which allows.
    ///
    /// - Throws: what is wrong with it.
    init(_ body: [UInt8], replacement: (JSONSlice) throws(UsageError) -> Replacement) throws(UsageError) {
        guard body.contains(where: { $0 > 0x20 }) else {
            self = .allow
            return
        }
        guard let answer = try? JSONSlice(body), answer.kind == .object else {
            throw UsageError("its answer is not a JSON object")
        }
        switch answer.last("action", .string)?.string {
        case "allow": self = .allow
        case "refuse":
            let reason = answer.last("message", .string)?.storableString.map {
                String($0.unicodeScalars.prefix(OperatorHooks.maximumReason))
            }
            self = .refuse(reason?.isEmpty == true ? nil : reason)
        case "replace": self = .replace(try replacement(answer))
        default: throw UsageError("its answer must have an action: allow, refuse or replace")
        }
    }
}

extension HookVerdict<[ModelMessage]> {
    /// The messages in place of those of a prompt.
    static func messages(_ answer: JSONSlice) throws(UsageError) -> [ModelMessage] {
        guard let value = answer.last("messages", .array) else {
            throw UsageError("an answer with replace must have messages")
        }
        do throws(ChatRequestError) {
            return try ChatRequest.messages(decoding: value.json.span)
        } catch {
            throw UsageError("its answer cannot be used: \(error.message)")
        }
    }
}

extension HookVerdict<[UInt8]> {
    /// The text in place of an answer, in UTF-8.
    static func text(_ answer: JSONSlice, upTo limit: Int) throws(UsageError) -> [UInt8] {
        guard let text = answer.last("content", .string)?.storableString else {
            throw UsageError("an answer with replace must have a content, a text without NUL")
        }
        guard text.utf8.count <= limit else { throw UsageError("its content has more than \(limit) bytes") }
        return Array(text.utf8)
    }
}
