import ChatterClient
import Observation

/// The conversations of a server, and the one that is shown.
@MainActor @Observable
public final class Chats {
    public private(set) var list: [Conversation] = []
    /// The conversation that is shown; `nil` if the address of the server is wrong.
    public private(set) var chat: Chat?
    /// Why the list is not there, a sentence for people.
    public private(set) var notice: String?
    private var client: ChatterClient?
    private let model: String
    private let file: ChatFile

    /// Shows the conversation of the file, which was shown last.
    public init(url: String, model: String, file: ChatFile) {
        self.model = model
        self.file = file
        do throws(ChatterError) {
            let client = try ChatterClient(url: url, credential: .app("chat"))
            self.client = client
            chat = Chat(client: client, model: model, file: file)
        } catch {
            notice = error.message
        }
    }

    public func load() async {
        guard let client else { return }
        do throws(ChatterError) {
            list = try await client.conversations().conversations
            notice = nil
        } catch {
            notice = error.message
        }
    }

    /// Continues the answer that was under way when the app ended or was suspended.
    public func resume() async {
        await chat?.resume()
        await load()
    }

    /// Begins a conversation.
    public func begin() {
        guard let client else { return }
        file.remove()
        chat = Chat(client: client, model: model, file: file)
    }

    public func open(_ conversation: Conversation) async {
        guard let client else { return }
        do throws(ChatterError) {
            chat = try await Chat(conversation.name, client: client, model: model, file: file)
        } catch {
            notice = error.message
        }
    }
}
