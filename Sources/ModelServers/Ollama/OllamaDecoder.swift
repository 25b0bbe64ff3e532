import ChatterdBasics
import ChatterdHTTP
import ChatterdLanguageModels

/// Reads an answer of Ollama's `/api/chat`: its lines, checked, and repaired and completed where they need it.
/// Confined to its shard.
final class OllamaDecoder: AnswerDecoder {
    private let model: String
    private let longestLine: Int
    private let now: @Sendable () -> Int64
    private var lines: LineSplitter
    private let template = OllamaLineTemplate()
    private var hasBegun = false
    private var isDone = false
    /// A line with tool calls, kept back until what follows says whether the token limit has cut the last of them.
    private var heldCalls: ByteBuffer?

    init(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) {
        self.model = model
        longestLine = limits.line
        self.now = now
        lines = LineSplitter(limit: limits.line)
    }

    /// Never before its last line, which says all.
    var isWhole: Bool { false }

    func read(_ bytes: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool {
        hasBegun = true
        var index = 0
        let outcome = try lines.feed(bytes, from: &index) { line throws(ModelError) in
            try read(line: line, take) ? .goOn : .stop
        }
        guard outcome != .tooLong else { throw .malformed("a line of it is longer than \(longestLine) bytes") }
        return true
    }

    func finish(_ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) {
        try lines.finish { line throws(ModelError) in
            _ = try read(line: line, take)
        }
        guard isDone else { throw .incomplete(hasBegun: hasBegun) }
    }

    /// Hands on one line; whether another one is wanted.
    @inline(__always)
    private func read(line: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool) throws(ModelError) -> Bool {
        if heldCalls == nil, let fields = template.read(line) {
            return take(line, fields)
        }
        return line.isEmpty ? true : try readInFull(line, take)
    }

    private func readInFull(
        _ line: Span<UInt8>, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        let fields = try Self.fields(of: line)
        template.learn(line, fields)
        guard fields.needsRepair else { return try complete(line, fields, take) }
        var repaired = ByteBuffer()
        repaired.append(repairingJSON: line)
        let bytes = repaired.bytes
        return try complete(bytes, try Self.fields(of: bytes), take)
    }

    private static func fields(of line: Span<UInt8>) throws(ModelError) -> AnswerLine {
        do throws(JSONError) {
            return try AnswerLine(line)
        } catch {
            throw .malformed("a line of it is not a JSON object", detail: "\(error)")
        }
    }

    private func complete(
        _ line: Span<UInt8>, _ fields: AnswerLine, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        guard fields.error == nil else { throw ModelError(inAnswer: UpstreamErrorBody(line)) }
        isDone = fields.isDone
        guard !fields.missing.isEmpty else { return try handOn(line, fields, take) }
        var completed = ByteBuffer()
        completed.append(completing: fields, in: line, model: model, createdAt: now())
        let bytes = completed.bytes
        // Made from a line that reads, by adding members: it reads.
        return try handOn(bytes, try Self.fields(of: bytes), take)
    }

    /// Hands on a line, but keeps tool calls back as long as nothing follows them.
    private func handOn(
        _ line: Span<UInt8>, _ fields: AnswerLine, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        guard heldCalls != nil || fields.toolCalls != nil else { return take(line, fields) }
        let isCut =
            fields.isDone
            && fields.doneReason.map { String(decodingJSON: line.extracting($0.range)) == "length" } == true
        if let held = heldCalls, fields.isDone || fields.saysSomething {
            heldCalls = nil
            guard try handOn(held.bytes, isCut: isCut && !fields.saysSomething, take) else { return false }
        }
        guard fields.toolCalls != nil else { return take(line, fields) }
        guard fields.isDone else {
            var held = ByteBuffer(capacity: line.count)
            held.append(line)
            heldCalls = held
            return true
        }
        return try handOn(line, isCut: isCut, take)
    }

    /// Hands on a line with tool calls, without the last one when the token limit has cut that.
    private func handOn(
        _ line: Span<UInt8>, isCut: Bool, _ take: (Span<UInt8>, AnswerLine) -> Bool
    ) throws(ModelError) -> Bool {
        let fields = try Self.fields(of: line)
        guard isCut else { return take(line, fields) }
        var rest = ByteBuffer(capacity: line.count)
        rest.append(removingLastCallOf: fields, in: line)
        let bytes = rest.bytes
        let left = try Self.fields(of: bytes)
        return left.isDone || left.saysSomething ? take(bytes, left) : true
    }
}
