import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// One thing that models say, said once; what must be heard follows from it and from who writes it.
struct ConformanceCase: Sendable {
    let name: String
    let speech: Speech

    init(
        _ name: String, _ pieces: [Speech.Piece], usage: Speech.Usage? = Speech.Usage(),
        _ ending: Speech.Ending = .finished(.stop)
    ) {
        self.name = name
        speech = Speech(pieces: pieces, usage: usage, ending: ending)
    }
}

/// A case as one server writes it.
struct WrittenCase: Sendable, CustomTestStringConvertible {
    let writer: any ServerWriter
    let speech: Speech
    let steps: [UpstreamStep]
    let testDescription: String

    /// Nothing when the server never says such a thing.
    init?(_ conformance: ConformanceCase, by writer: any ServerWriter) {
        guard let steps = writer.steps(conformance.speech) else { return nil }
        self.writer = writer
        speech = conformance.speech
        self.steps = steps
        testDescription = "\(writer.name): \(conformance.name)"
    }

    /// What must be heard of it.
    var expected: Heard {
        var heard = Heard()
        heard.text = speech.text
        heard.thinking = speech.thinking
        switch speech.ending {
        case .finished(let reason), .brokenAfter(let reason):
            heard.reason = reason == .length ? "length" : "stop"
            heard.finishReason = reason == .filter ? "content_filter" : nil
            heard.calls = calls
            if case .finished = speech.ending, writer.tellsUsage || writer.kind == .ollama { count(in: &heard) }
            if writer.kind != .openai { count(in: &heard) }
        case .failed(let words):
            heard.code = writer.tellsErrors ? .failed : .incomplete
            heard.words = writer.tellsErrors ? words : ""
        case .silent, .unexplained, .broken:
            heard.code = .incomplete
        }
        return heard
    }

    private func count(in heard: inout Heard) {
        heard.promptTokens = speech.usage?.prompt
        heard.answerTokens = speech.usage?.answer
    }

    private var calls: [Heard.Call] {
        speech.calls.map { call in
            let arguments = call.arguments.joined()
            let text = (try? JSONTree(arguments.isEmpty ? "{}" : arguments))?.description ?? arguments
            return Heard.Call(id: writer.tellsCallIDs ? call.id : nil, name: call.name, arguments: text)
        }
    }
}

/// All servers that are written here.
let allWriters: [any ServerWriter] =
    [OllamaWriter(dialect: .v0_32), OllamaWriter(dialect: .v0_11), LlamaStackWriter()]
    + OpenAIWriter.Server.allCases.map { OpenAIWriter(server: $0) }

/// The kinds of servers that there are adapters for.
let adaptedKinds = Set(allWriters.map(\.kind)).sorted { $0.rawValue < $1.rawValue }
