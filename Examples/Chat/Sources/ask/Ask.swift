import ChatCore
import ChatterClient
import ChatterModels

/// A command for Linux and macOS.
@main
struct Ask {
    private static let usage = """
        usage: ask URL MODEL TEXT   prints an answer while a chatterd server generates it
               ask chat URL MODEL   answers the lines of the standard input, in one conversation
               ask paper JSON       reads a paper from the answer of a model that repeats its prompt
        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.count, arguments.first) {
        case (2, "paper"): print(await paper(in: arguments[1], by: EchoLLM()))
        case (3, "chat"): try await chat(url: arguments[1], model: arguments[2])
        case (3, _): try await answer(url: arguments[0], model: arguments[1], prompt: arguments[2])
        default: print(usage)
        }
    }

    private static func answer(url: String, model: String, prompt: String) async throws {
        let client = try ChatterClient(url: url, credential: .app("ask"))
        for try await event in client.answer(to: ChatterClient.Prompt(prompt, model: model)) {
            switch event {
            case .text(let piece): print(piece, terminator: "")
            case .connectionLost(let error, _): print("\n(\(error))")
            case .finished: print()
            default: break
            }
        }
    }

    /// The same conversation that the app shows.
    @MainActor private static func chat(url: String, model: String) async throws {
        let chat = Chat(client: try ChatterClient(url: url, credential: .app("ask")), model: model)
        while let line = readLine() {
            await chat.send(line)
            if let turn = chat.turns.last {
                print(turn.answer)
                if let notice = turn.notice { print("(\(notice))") }
            }
        }
    }
}
