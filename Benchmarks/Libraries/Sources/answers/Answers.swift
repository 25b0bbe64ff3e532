import ChatterClient
import ChatterModels
import Glibc

/// `answers URL PATH MODEL`: reads one answer on one path of the libraries, and prints the CPU seconds and the length of its last value.
@main enum Answers {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else { fatalError("answers URL PATH MODEL") }
        let length = try await read(arguments[2], arguments[3], from: arguments[1])
        print(cpuSeconds, length)
    }

    private static func read(_ path: String, _ model: String, from url: String) async throws -> Int {
        let client = try ChatterClient(url: url, credential: .app("bench"))
        let ollama = try OllamaLLM(model: model, url: url)
        var length = 0
        switch path {
        case "client.answer":
            for try await event in client.answer(to: ChatterClient.Prompt("Hi", model: model)) {
                if case .text(let text) = event { length += text.utf8.count }
            }
        case "client.snapshots":
            for try await answer in client.snapshots(of: ChatterClient.Prompt("Hi", model: model)) {
                length = answer.text.utf8.count
            }
        case "model.events":
            for try await event in ollama.events(for: GenerationRequest(transcript: [.user("Hi")])) {
                if case .text(let text) = event { length += text.utf8.count }
            }
        case "model.reply": length = try await ollama.reply(to: "Hi").content.utf8.count
        case "session.ollama": length = try await last(of: ollama)
        case "session.openai": length = try await last(of: try OpenAILLM(model: model, url: url))
        case "session.chatterd": length = try await last(of: ChatterdLLM(client: client, model: model))
        case "session.observed":
            let session = ollama.makeSession()
            let observer = Task {
                for await transcript in await session.transcripts() where transcript.messages.count == 2 { return }
            }
            length = try await session.reply(to: "Hi").content.utf8.count
            await observer.value
        case "typed.strings":
            for try await list in ollama.replyStream(to: "Hi", returning: [String].self) { length = list.count }
        case "typed.numbers":
            for try await list in ollama.replyStream(to: "Hi", returning: [Int].self) { length = list.count }
        case "typed.object":
            length = try await ollama.reply(to: "Hi").content.utf8.count
            _ = try StructuredContent(json: try await ollama.reply(to: "Hi").content)
        default: fatalError("no path \(path)")
        }
        return length
    }

    private static func last(of llm: any LLM) async throws -> Int {
        var length = 0
        // The last snapshot is kept, as a view does.
        var shown = ""
        for try await text in llm.makeSession().replyStream(to: "Hi") {
            shown = text
            length = shown.utf8.count
        }
        return length
    }

    private static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }.reduce(0, +)
    }
}
