/// A step of the answer of a scripted model server.
public enum UpstreamStep: Sendable {
    /// Bytes unchanged.
    case send([UInt8])
    /// Bytes in pieces of a size, each in a separate segment as far as TCP allows.
    case sendSplit([UInt8], piecesOf: Int)
    /// A status line and these fields only.
    case head(Int, [(String, String)])
    /// One chunk of a chunked body.
    case chunk([UInt8])
    /// The last chunk.
    case endChunks
    /// Opens a gate, which tells the test that the script has reached this step.
    case open(Gate)
    /// Waits until the test opens the gate; a peer that closes meanwhile ends the script.
    case wait(for: Gate)
    /// Waits until the system of the peer has all bytes sent before.
    case acknowledged
    /// Waits until the peer closes or the upstream is stopped.
    case stall
    /// Closes the connection, also within the body.
    case close
    /// Resets the connection.
    case reset
    /// The same steps over and over until the peer closes.
    case forever([UpstreamStep])
}

extension UpstreamStep {
    /// Text unchanged.
    public static func send(_ text: String) -> UpstreamStep { .send(Array(text.utf8)) }

    /// One chunk of a chunked body.
    public static func chunk(_ text: String) -> UpstreamStep { .chunk(Array(text.utf8)) }

    /// Ends a chunked body without its last chunk.
    public static var closeWithoutFinishingChunks: UpstreamStep { .close }

    /// The head of a streamed answer of Ollama.
    public static var streamHead: UpstreamStep {
        .head(200, [("Content-Type", "application/x-ndjson"), ("Transfer-Encoding", "chunked")])
    }
}

extension [UpstreamStep] {
    /// A whole answer: one line and one chunk for each token, then the last line.
    public static func answer(
        _ tokens: [String], model: String = "tiny", _ dialect: ModelDialect = .v0_32
    ) -> [UpstreamStep] {
        [.streamHead] + tokens.map { .chunk(ModelLine.token($0, model: model)) } + [
            .chunk(ModelLine.done(model: model, dialect)), .endChunks,
        ]
    }

    /// These lines, each in a separate chunk, and an orderly end.
    public static func lines(_ lines: [String]) -> [UpstreamStep] {
        [.streamHead] + lines.map { .chunk($0) } + [.endChunks]
    }

    /// A body cut into chunks of a size, each sent by itself.
    public static func lines(_ lines: [String], inChunksOf size: Int) -> [UpstreamStep] {
        let bytes = [UInt8](lines.joined().utf8)
        let pieces = stride(from: 0, to: bytes.count, by: size).map {
            UpstreamStep.chunk([UInt8](bytes[$0..<Swift.min($0 + size, bytes.count)]))
        }
        return [.streamHead] + pieces + [.endChunks]
    }

    /// A plain answer with a length, as all of Ollama's errors and unstreamed answers are.
    public static func plain(
        _ status: Int, _ body: String, type: String = "application/json; charset=utf-8", fields: [(String, String)] = []
    ) -> [UpstreamStep] {
        [
            .head(status, [("Content-Type", type), ("Content-Length", String(body.utf8.count))] + fields),
            .send(body),
        ]
    }

    /// An error before the stream: a status and `{"error": text}` without a newline.
    public static func error(_ status: Int, _ text: String) -> [UpstreamStep] {
        plain(status, "{\"error\":\(jsonString(text))}")
    }
}
