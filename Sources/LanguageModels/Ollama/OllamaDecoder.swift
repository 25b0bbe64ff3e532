import Bytes
import HTTP

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

    init(model: String, limits: GenerationLimits, now: @escaping @Sendable () -> Int64) {
        self.model = model
        longestLine = limits.line
        self.now = now
        lines = LineSplitter(limit: limits.line)
    }

    /// Never before its last line, which says all.
    var isWhole: Bool { false }

    func read(_ bytes: Span<UInt8>, _ take: (Span<UInt8>, OllamaLine) -> Bool) throws(ModelError) -> Bool {
        hasBegun = true
        var index = 0
        let outcome = try lines.feed(bytes, from: &index) { line throws(ModelError) in
            try read(line: line, take) ? .goOn : .stop
        }
        guard outcome != .tooLong else { throw .malformed("a line of it is longer than \(longestLine) bytes") }
        return true
    }

    func finish(_ take: (Span<UInt8>, OllamaLine) -> Bool) throws(ModelError) {
        try lines.finish { line throws(ModelError) in
            _ = try read(line: line, take)
        }
        guard isDone else { throw .incomplete(hasBegun: hasBegun) }
    }

    /// Hands on one line; whether another one is wanted.
    @inline(__always)
    private func read(line: Span<UInt8>, _ take: (Span<UInt8>, OllamaLine) -> Bool) throws(ModelError) -> Bool {
        if let fields = template.read(line) {
            return take(line, fields)
        }
        return line.isEmpty ? true : try readInFull(line, take)
    }

    private func readInFull(
        _ line: Span<UInt8>, _ take: (Span<UInt8>, OllamaLine) -> Bool
    ) throws(ModelError) -> Bool {
        let fields = try Self.fields(of: line)
        template.learn(line, fields)
        guard fields.needsRepair else { return try complete(line, fields, take) }
        var repaired = ByteBuffer()
        repaired.append(repairingJSON: line)
        let bytes = repaired.bytes
        return try complete(bytes, try Self.fields(of: bytes), take)
    }

    private static func fields(of line: Span<UInt8>) throws(ModelError) -> OllamaLine {
        do throws(JSONError) {
            return try OllamaLine(line)
        } catch {
            throw .malformed("a line of it is not a JSON object", detail: "\(error)")
        }
    }

    private func complete(
        _ line: Span<UInt8>, _ fields: OllamaLine, _ take: (Span<UInt8>, OllamaLine) -> Bool
    ) throws(ModelError) -> Bool {
        if let error = fields.error {
            throw ModelError(.failed, error.text(in: line))
        }
        isDone = fields.isDone
        guard !fields.missing.isEmpty else { return take(line, fields) }
        var completed = ByteBuffer()
        completed.append(completing: fields, in: line, model: model, createdAt: now())
        let bytes = completed.bytes
        // Made from a line that reads, by adding members: it reads.
        return take(bytes, try Self.fields(of: bytes))
    }
}
