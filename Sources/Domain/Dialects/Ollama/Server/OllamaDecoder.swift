import ChatterdBasics
import ChatterdChat
import ChatterdHTTP

/// Reads an answer of Ollama's `/api/chat`. Lines are checked, repaired and completed. Confined to its shard.
final class OllamaDecoder: AnswerDecoder {
    private let model: String
    private let longestLine: Int
    private let now: @Sendable () -> Int64
    private var lines: LineSplitter
    private let template = OllamaLineTemplate()
    private var hasBegun = false
    private var isDone = false
    /// A line with tool calls, held until the next line shows whether the token limit has cut the last call.
    private var heldCalls: ByteBuffer?

    init(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) {
        self.model = model
        longestLine = limits.line
        self.now = now
        lines = LineSplitter(limit: limits.line)
    }

    /// The last line is the end of the answer and has its counts.
    var isWhole: Bool { false }

    func read(_ bytes: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        hasBegun = true
        var index = 0
        while readTokens(bytes, from: &index, deliver) {
            var continues = true
            let outcome = try lines.feed(bytes, from: &index) { line throws(ModelError) in
                continues = try read(line: line, deliver)
                return .stop
            }
            guard outcome != .tooLong else { throw .malformed("a line of it is longer than \(longestLine) bytes") }
            guard outcome == .stopped, continues else { break }
        }
        return true
    }

    /// Delivers the lines of the learned shape in runs, up to the first line of another shape or without its end. Returns whether the
    /// handler continues.
    private func readTokens(_ bytes: Span<UInt8>, from index: inout Int, _ deliver: AnswerLineHandler) -> Bool {
        guard heldCalls == nil, lines.carriedCount == 0, let example = template.learned else { return true }
        // The table is on the stack, so that a stream needs no memory for it between two reads.
        return withUnsafeTemporaryAllocation(of: TokenLine.self, capacity: LineRun.limit) { storage in
            var hasMore = true
            while hasMore {
                var tokens = OutputSpan(buffer: storage, initializedCount: 0)
                hasMore = template.read(bytes, from: &index, into: &tokens, longestLine: longestLine)
                guard !tokens.isEmpty else { break }
                guard deliver(LineRun(bytes, tokens: tokens.span, like: example)) else { return false }
            }
            return true
        }
    }

    func finish(_ deliver: AnswerLineHandler) throws(ModelError) {
        try lines.finish { line throws(ModelError) in
            _ = try read(line: line, deliver)
        }
        guard isDone else { throw .incomplete(hasBegun: hasBegun) }
    }

    /// Reads one line. Returns whether the handler continues.
    private func read(line: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        line.isEmpty ? true : try readInFull(line, deliver)
    }

    private func readInFull(_ line: Span<UInt8>, _ deliver: AnswerLineHandler) throws(ModelError) -> Bool {
        try AnswerLine.decode(line) { fields, line throws(ModelError) in
            template.learn(line, fields)
            return try complete(line, fields, deliver)
        }
    }

    /// Adds the members that the line lacks.
    private func complete(
        _ line: Span<UInt8>, _ fields: AnswerLine, _ deliver: AnswerLineHandler
    ) throws(ModelError) -> Bool {
        guard fields.error == nil else { throw ModelError(inAnswer: UpstreamErrorBody(line)) }
        isDone = fields.isDone
        guard !fields.missing.isEmpty else { return try deliverOrHold(line, fields, deliver) }
        var completed = ByteBuffer()
        completed.append(completing: fields, in: line, model: model, createdAt: now())
        let bytes = completed.bytes
        return try deliverOrHold(bytes, try AnswerLine(received: bytes), deliver)
    }

    /// Delivers a line, but holds tool calls until another line follows.
    private func deliverOrHold(
        _ line: Span<UInt8>, _ fields: AnswerLine, _ deliver: AnswerLineHandler
    ) throws(ModelError) -> Bool {
        guard heldCalls != nil || fields.toolCalls != nil else { return deliver(LineRun(line: line, fields: fields)) }
        let isCut =
            fields.isDone
            && fields.doneReason.map { String(decodingJSON: line.extracting($0.range)) == "length" } == true
        if let held = heldCalls, fields.isDone || fields.hasAnswer {
            heldCalls = nil
            guard try deliverCalls(held.bytes, isCut: isCut && !fields.hasAnswer, deliver) else { return false }
        }
        guard fields.toolCalls != nil else { return deliver(LineRun(line: line, fields: fields)) }
        guard fields.isDone else {
            var held = ByteBuffer(capacity: line.count)
            held.append(line)
            heldCalls = held
            return true
        }
        return try deliverCalls(line, isCut: isCut, deliver)
    }

    /// Delivers a line with tool calls, without its last call if the token limit has cut it.
    private func deliverCalls(
        _ line: Span<UInt8>, isCut: Bool, _ deliver: AnswerLineHandler
    ) throws(ModelError) -> Bool {
        let fields = try AnswerLine(received: line)
        guard isCut else { return deliver(LineRun(line: line, fields: fields)) }
        var rest = ByteBuffer(capacity: line.count)
        rest.append(removingLastCallOf: fields, in: line)
        let bytes = rest.bytes
        let remaining = try AnswerLine(received: bytes)
        return remaining.isDone || remaining.hasAnswer
            ? deliver(LineRun(line: bytes, fields: remaining)) : true
    }
}
