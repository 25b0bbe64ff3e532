import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdTestSupport

/// What a model says in one answer, whatever its server writes for it.
struct Speech: Sendable {
    /// A piece of a JSON string: what it means, and how it is spelled where that matters.
    struct Text: Sendable, ExpressibleByStringLiteral {
        let meaning: String
        /// The inside of the JSON string; nothing when any spelling will do.
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

    /// How the answer ends.
    enum Ending: Sendable {
        /// For a reason, and with all that the server sends after it.
        case finished(Reason)
        /// The connection breaks right behind the reason.
        case brokenAfter(Reason)
        /// With an error of the server's.
        case failed(String)
        /// The body ends in order, and nothing says why.
        case silent
        /// With the mark of the end, and nothing says why.
        case unexplained
        /// The connection breaks.
        case broken
    }

    /// The tokens counted.
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

/// How a server writes what its models say.
protocol ServerWriter: Sendable {
    /// Which server, for people.
    var name: String { get }
    /// What an operator would call it.
    var kind: UpstreamDescription.Kind { get }
    /// The value of `Content-Type`.
    var contentType: String { get }
    /// Whether it counts tokens for whoever streams.
    var tellsUsage: Bool { get }
    /// Whether it gives calls of functions a name of their own.
    var tellsCallIDs: Bool { get }
    /// Whether an error in the middle of its stream can be told from an end.
    var tellsErrors: Bool { get }
    /// The events of an answer, each with what ends it; nothing when this server never says such a thing.
    func events(_ speech: Speech) -> [String]?
}

extension ServerWriter {
    var tellsUsage: Bool { true }
    var tellsCallIDs: Bool { true }
    var tellsErrors: Bool { true }

    /// The answer on the wire, an event a chunk; nothing when this server never says such a thing.
    func steps(_ speech: Speech) -> [UpstreamStep]? {
        guard let events = events(speech) else { return nil }
        return [head] + events.map { .chunk($0) } + [ending(speech)]
    }

    /// The head of an answer in chunks.
    var head: UpstreamStep { .head(200, [("Content-Type", contentType), ("Transfer-Encoding", "chunked")]) }

    /// How the body ends.
    func ending(_ speech: Speech) -> UpstreamStep {
        switch speech.ending {
        case .broken, .brokenAfter: .closeWithoutFinishingChunks
        default: .endChunks
        }
    }
}

/// The inside of a JSON string as Python writes it by itself: ASCII only.
func pythonEscaped(_ text: String) -> String {
    jsonString(text).dropFirst().dropLast().unicodeScalars.map { scalar in
        guard !scalar.isASCII else { return String(scalar) }
        return String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }.joined()
}

extension Speech.Text {
    /// A JSON string, spelled as Go does unless the text says how.
    var json: String { spelling.map { "\"\($0)\"" } ?? jsonString(meaning) }
    /// A JSON string in ASCII, unless the text says how.
    var asciiJSON: String { "\"\(spelling ?? pythonEscaped(meaning))\"" }
}
