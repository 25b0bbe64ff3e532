import ChatterdBasics
import ChatterdChat
import ChatterdRelay
import ChatterdSockets
import ChatterdTracing

/// One request to a model for the title of a conversation. Confined to its shard.
final class TitleAnswer: GenerationConsumer {
    /// The limit of the answer, in bytes. A model that thinks aloud writes much before the title.
    private static let limit = 16_384
    /// The limit of tokens that the model is asked to keep.
    static let tokens = 512
    /// The time for the whole answer.
    private static let timeout = Duration.seconds(60)

    private let shard: Shard
    private var text = ByteBuffer()
    private var generation: (any Generation)?
    private var timer: DeadlineTimer?
    private var finished: CheckedContinuation<ModelError?, Never>?
    /// The end of the answer, if it came first.
    private var ending: ModelError??

    init(on shard: Shard) {
        self.shard = shard
    }

    /// Asks a model for a title.
    ///
    /// - Parameters:
    ///   - beginning: the beginning of the conversation.
    ///   - trace: the span of the request.
    /// - Throws: the error of the model server; `malformed` if the answer has no words.
    func title(of beginning: String, by target: ModelTarget, trace: TraceContext?) async throws(ModelError) -> String {
        var messages = EncodedConversation()
        messages.append(ModelMessage(role: "user", content: Self.instruction + beginning))
        var request = GenerationRequest(
            model: target.model, messages: messages,
            passThrough: [RawMember(key: "options", value: Array("{\"num_predict\":\(Self.tokens)}".utf8))])
        request.trace = trace
        generation = target.upstream.model.generate(request, to: self)
        timer = DeadlineTimer(on: shard) { [unowned self] in
            cancel(ModelError(.totalTimeout, "The model has made no title within \(Self.timeout)."))
        }
        timer?.set(after: Self.timeout)
        if ending == nil {
            ending = .some(await withCheckedContinuation { finished = $0 })
        }
        timer?.cancel()
        generation = nil
        if let error = ending ?? nil { throw error }
        guard let title = Self.title(in: String(decoding: text.array, as: UTF8.self)) else {
            throw ModelError(.malformed, "The model has answered without a title.")
        }
        return title
    }

    private static let instruction = """
        Write a title of at most six words for the conversation below, in its language. Answer with the title only.


        """

    /// The title in an answer: its last line with words, without quotes and markup, as long as titles are.
    static func title(in answer: String) -> String? {
        let spoken = answer.components(behind: "</think>")
        guard !spoken.contains("<think>") else { return nil }
        let lines = spoken.split(whereSeparator: \.isNewline).map { line in
            line.unicodeScalars.drop { !$0.properties.isAlphabetic && $0.properties.numericType == nil }
        }
        guard var line = lines.last(where: { !$0.isEmpty }) else { return nil }
        for label in ["Title:", "title:"] where Substring(line).hasPrefix(label) {
            line = line.dropFirst(label.count)
        }
        while let last = line.last, last.isSpaceOrMarkup || last == "." {
            line.removeLast()
        }
        let scalars = line.drop(while: \.isSpaceOrMarkup).filter { $0.properties.generalCategory != .control }
        return ConversationTitle.opening(of: String(String.UnicodeScalarView(scalars)))
    }

    /// Ends the answer with an error.
    func cancel(_ error: ModelError) {
        generation?.cancel()
        end(error)
    }

    func generation(_ generation: any Generation, lines: LineRun) {
        for index in 0..<lines.count {
            guard let content = lines.fields(at: index).content, !content.range.isEmpty else { continue }
            text.append(decodingJSON: lines.line(at: index).extracting(content.range))
        }
        if text.count > Self.limit {
            cancel(ModelError(.answerTooLarge, "The model has answered more than a title."))
        }
    }

    func generationEnded(_ generation: any Generation, error: ModelError?) {
        end(error)
    }

    private func end(_ error: ModelError?) {
        guard ending == nil else { return }
        ending = .some(error)
        finished.take()?.resume(returning: error)
    }
}

extension Unicode.Scalar {
    fileprivate var isSpaceOrMarkup: Bool { properties.isWhitespace || "\"'`*_".unicodeScalars.contains(self) }
}

extension String {
    /// The text behind the last occurrence of a mark; the whole text without one.
    fileprivate func components(behind mark: String) -> Substring {
        var rest = self[...]
        while let range = rest.firstRange(of: mark) {
            rest = rest[range.upperBound...]
        }
        return rest
    }
}
