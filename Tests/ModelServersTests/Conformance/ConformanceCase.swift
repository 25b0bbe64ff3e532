import ChatterdChat
import ChatterdModelServers
import ChatterdTestSupport
import Testing

/// One output of a model. The expected answer follows from it and from the server that writes it.
struct ConformanceCase: Sendable {
    let name: String
    let output: ModelOutput

    init(
        _ name: String, _ pieces: [ModelOutput.Piece], usage: ModelOutput.Usage? = ModelOutput.Usage(),
        _ ending: ModelOutput.Ending = .finished(.stop)
    ) {
        self.name = name
        output = ModelOutput(pieces: pieces, usage: usage, ending: ending)
    }
}

/// A case as one server writes it.
struct WrittenCase: Sendable, CustomTestStringConvertible {
    let writer: any ServerWriter
    let output: ModelOutput
    let steps: [UpstreamStep]
    let testDescription: String

    /// Creates a case; `nil` if the server never writes such an output.
    init?(_ conformance: ConformanceCase, by writer: any ServerWriter) {
        guard let steps = writer.steps(conformance.output) else { return nil }
        self.writer = writer
        output = conformance.output
        self.steps = steps
        testDescription = "\(writer.name): \(conformance.name)"
    }

    /// The expected answer.
    var expected: ReceivedAnswer {
        var received = ReceivedAnswer()
        received.text = output.text
        received.thinking = output.thinking
        switch output.ending {
        case .finished(let reason), .brokenAfter(let reason):
            received.reason = reason == .length ? "length" : "stop"
            received.finishReason = reason == .filter ? "content_filter" : nil
            received.calls = calls
            if case .finished = output.ending, writer.tellsUsage || writer.kind == .ollama { count(in: &received) }
            if writer.kind != .openai { count(in: &received) }
        case .failed(let words):
            received.code = writer.tellsErrors ? .failed : .incomplete
            received.words = writer.tellsErrors ? words : ""
        case .silent, .unexplained, .broken:
            received.code = .incomplete
        }
        return received
    }

    private func count(in received: inout ReceivedAnswer) {
        received.promptTokens = output.usage?.prompt
        received.answerTokens = output.usage?.answer
    }

    private var calls: [ReceivedAnswer.Call] {
        output.calls.map { call in
            let arguments = call.arguments.joined()
            let text = (try? JSONTree(arguments.isEmpty ? "{}" : arguments))?.description ?? arguments
            return ReceivedAnswer.Call(id: writer.tellsCallIDs ? call.id : nil, name: call.name, arguments: text)
        }
    }
}

/// All simulated servers.
let allWriters: [any ServerWriter] =
    [OllamaWriter(dialect: .v0_32), OllamaWriter(dialect: .v0_11), LlamaStackWriter()]
    + OpenAIWriter.Server.allCases.map { OpenAIWriter(server: $0) }

/// The kinds of servers that there are adapters for.
let adaptedKinds = Set(allWriters.map(\.kind)).sorted { $0.rawValue < $1.rawValue }
