import ChatterClient
import Observation

/// A prompt with its answer. A view that shows a turn is evaluated for changes of this turn only.
@MainActor @Observable
public final class Turn: Identifiable {
    /// What a screen shows of it.
    public enum Phase: Sendable, Hashable {
        /// The answer is under way: connecting, in a queue, or growing.
        case running
        case finished
        /// The server could not answer; another attempt may help.
        case failed(isRetryable: Bool)
    }

    public nonisolated let id: Int
    public let prompt: String
    public private(set) var text: String
    /// A sentence about a connection that is lost at the moment, the place in a queue, or the failure.
    public private(set) var notice: String?
    public private(set) var phase: Phase

    /// The name of the request, with which the server knows a repetition.
    let key: String
    /// The last snapshot; an app stores it to continue there.
    private(set) var answer: Answer?
    @ObservationIgnored private var shown: ContinuousClock.Instant?

    init(id: Int, prompt: String, key: String, answer: Answer?) {
        self.id = id
        self.prompt = prompt
        self.key = key
        self.answer = answer
        text = answer?.text ?? ""
        phase = answer?.isFinished == true ? .finished : .running
    }

    /// A turn that the server has already.
    ///
    /// - Parameter running: the reply, if it is still being generated.
    init(id: Int, prompt: String, text: String, running reply: ReplyID? = nil) {
        self.id = id
        self.prompt = prompt
        self.text = text
        key = ""
        answer = reply.map { Answer(to: $0) }
        phase = reply == nil ? .finished : .running
    }

    /// Shows a snapshot: the text twenty times a second at most.
    func show(_ answer: Answer) {
        self.answer = answer
        notice = answer.interruption?.message ?? answer.queue.map { "Number \($0.position) in the queue" }
        let now = ContinuousClock.now
        guard answer.isFinished || shown.map({ now - $0 >= .milliseconds(50) }) ?? true else { return }
        shown = now
        text = answer.text
    }

    func begin() {
        phase = .running
        notice = nil
    }

    func finish() {
        phase = .finished
        text = answer?.text ?? ""
        notice = text.isEmpty ? "The model has answered nothing." : nil
    }

    func fail(_ error: ChatterError) {
        text = answer?.text ?? ""
        phase = .failed(isRetryable: error.isRetryable)
        notice = error.message
    }
}
