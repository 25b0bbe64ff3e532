import ChatCore
import ChatterClient
import ChatterModels
import Foundation

/// A command for Linux and macOS.
@main
struct Ask {
    private static let usage = """
        usage: ask URL MODEL TEXT         prints an answer while a chatterd server generates it
               ask chat URL MODEL [FILE]  answers the lines of the standard input, in one conversation; with FILE, the next start continues it
               ask list URL               lists the conversations of the server
               ask dice URL MODEL TEXT    answers with a tool that rolls dice
               ask paper JSON             reads a paper from the answer of a model that repeats its prompt
        """

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do throws(ChatterError) {
            switch (arguments.count, arguments.first) {
            case (2, "paper"): print(await paper(in: arguments[1], by: EchoLLM()))
            case (2, "list"): try await list(url: arguments[1])
            case (3, "chat"), (4, "chat"):
                try await chat(url: arguments[1], model: arguments[2], file: arguments.count > 3 ? arguments[3] : nil)
            case (4, "dice"): try await dice(url: arguments[1], model: arguments[2], prompt: arguments[3])
            case (3, _): try await answer(url: arguments[0], model: arguments[1], prompt: arguments[2])
            default: print(usage)
            }
        } catch {
            fail(error.message)
        }
    }

    /// Ends the command with a sentence for people.
    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(1)
    }

    private static func client(_ url: String) throws(ChatterError) -> ChatterClient {
        try ChatterClient(url: url, credential: .app("ask"))
    }

    private static func answer(url: String, model: String, prompt: String) async throws(ChatterError) {
        do {
            for try await event in try client(url).answer(to: ChatterClient.Prompt(prompt, model: model)) {
                switch event {
                case .text(let piece): print(piece, terminator: "")
                case .connectionLost(let error, _): print("\n(\(error))")
                case .finished: print()
                default: break
                }
            }
        } catch let error as ChatterError {
            throw error
        } catch {
            throw .cancelled
        }
    }

    private static func list(url: String) async throws(ChatterError) {
        for conversation in try await client(url).conversations().conversations {
            print(conversation.name, conversation.title ?? "", separator: "\t")
        }
    }

    private static func dice(url: String, model: String, prompt: String) async throws(ChatterError) {
        let llm = ChatterdLLM(client: try client(url), model: model)
        if let reason = await play(prompt, with: DiceTool(), by: llm, show: { print($0, terminator: "") }) {
            fail(reason)
        }
        print()
    }

    /// The same conversation that the app shows.
    @MainActor private static func chat(url: String, model: String, file: String?) async throws(ChatterError) {
        let chat = Chat(client: try client(url), model: model, file: file.map { ChatFile(path: $0) })
        if chat.isAnswering {
            await chat.resume()
            show(chat)
        }
        while let line = readLine() {
            let count = chat.turns.count
            await chat.send(line)
            if chat.turns.count > count { show(chat) }
        }
    }

    @MainActor private static func show(_ chat: Chat) {
        guard let turn = chat.turns.last else { return }
        print(turn.text)
        if let notice = turn.notice { print("(\(notice))") }
    }
}
