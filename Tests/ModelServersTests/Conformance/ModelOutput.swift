import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport

/// The output of a model for one answer, independent of the server that writes it.
struct ModelOutput: Sendable {
    /// A piece of a JSON string: its text, and its spelling if that matters.
    struct Text: Sendable, ExpressibleByStringLiteral {
        let meaning: String
        /// The inside of the JSON string; `nil` for any spelling.
        var spelling: String?

        init(_ meaning: String, spelled spelling: String? = nil) {
            self.meaning = meaning
            self.spelling = spelling
        }

        init(stringLiteral meaning: String) {
            self.init(meaning)
        }
    }

    /// A function to be called.
    struct Call: Sendable {
        let id: String
        let name: String
        /// The JSON text of the arguments, in the pieces of servers that stream it.
        let arguments: [String]

        init(_ name: String, _ arguments: String..., id: String) {
            self.id = id
            self.name = name
            self.arguments = arguments
        }
    }

    enum Piece: Sendable {
        case text(Text)
        case thinking(Text)
        case calls([Call])
    }

    enum Reason: Sendable {
        case stop
        case length
        case toolCalls
        case filter
    }

    /// The end of the answer.
    enum Ending: Sendable {
        /// A reason, with all that the server sends after it.
        case finished(Reason)
        /// The connection breaks after the reason.
        case brokenAfter(Reason)
        /// An error of the server.
        case failed(String)
        /// The body ends regularly, without a reason.
        case silent
        /// The mark of the end, without a reason.
        case unexplained
        /// The connection breaks.
        case broken
    }

    /// The counts of tokens.
    struct Usage: Sendable {
        var prompt = 18
        var answer = 13
    }

    var pieces: [Piece]
    var usage: Usage? = Usage()
    var ending = Ending.finished(.stop)

    var text: String { pieces.map { if case .text(let text) = $0 { text.meaning } else { "" } }.joined() }

    var thinking: String { pieces.map { if case .thinking(let text) = $0 { text.meaning } else { "" } }.joined() }

    var calls: [Call] { pieces.flatMap { if case .calls(let calls) = $0 { calls } else { [Call]() } } }
}

/// A simulated server that writes the output of a model in its wire format.
protocol ServerWriter: Sendable {
    /// The name of the server, for test descriptions.
    var name: String { get }
    /// Its kind in a description.
    var kind: UpstreamDescription.Kind { get }
    /// The value of `Content-Type`.
    var contentType: String { get }
    /// Whether it sends token counts in a stream.
    var tellsUsage: Bool { get }
    /// Whether its tool calls have ids.
    var tellsCallIDs: Bool { get }
    /// Whether an error within its stream differs from an end.
    var tellsErrors: Bool { get }
    /// The events of an answer, each with its end; `nil` if this server never writes such an output.
    func events(_ output: ModelOutput) -> [String]?
}

extension ServerWriter {
    var tellsUsage: Bool { true }
    var tellsCallIDs: Bool { true }
    var tellsErrors: Bool { true }

    /// The answer on the wire, one event in a chunk; `nil` if this server never writes such an output.
    func steps(_ output: ModelOutput) -> [UpstreamStep]? {
        guard let events = events(output) else { return nil }
        return [head] + events.map { .chunk($0) } + [ending(output)]
    }

    /// The head of an answer in chunks.
    var head: UpstreamStep { .head(200, [("Content-Type", contentType), ("Transfer-Encoding", "chunked")]) }

    /// The end of the body.
    func ending(_ output: ModelOutput) -> UpstreamStep {
        switch output.ending {
        case .broken, .brokenAfter: .closeWithoutFinishingChunks
        default: .endChunks
        }
    }
}

/// The inside of a JSON string as Python writes it by default: ASCII only.
func pythonEscaped(_ text: String) -> String {
    jsonString(text).dropFirst().dropLast().unicodeScalars.map { scalar in
        guard !scalar.isASCII else { return String(scalar) }
        return String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }.joined()
}

extension ModelOutput.Text {
    /// A JSON string, spelled as Go does unless the text has a spelling.
    var json: String { spelling.map { "\"\($0)\"" } ?? jsonString(meaning) }
    /// A JSON string in ASCII, unless the text has a spelling.
    var asciiJSON: String { "\"\(spelling ?? pythonEscaped(meaning))\"" }
}
