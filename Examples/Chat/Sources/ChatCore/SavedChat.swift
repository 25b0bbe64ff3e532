import ChatterClient
import Foundation

/// A conversation as it is stored.
public struct SavedChat: Codable, Sendable {
    struct Turn: Codable {
        var prompt: String
        var key: String
        var answer: Answer?
    }

    var conversation: String
    var turns: [Turn]
}

/// The file of a conversation.
public struct ChatFile: Sendable {
    private let url: URL

    public init(path: String) {
        url = URL(filePath: path)
    }

    /// The conversation; `nil` if there is none yet, or the file is of another version of the app.
    func read() -> SavedChat? {
        guard let data = try? Data(contentsOf: url) else { return nil }
        return try? JSONDecoder().decode(SavedChat.self, from: data)
    }

    func remove() {
        try? FileManager.default.removeItem(at: url)
    }

    /// Replaces the file. If that fails the conversation is still on the server.
    func write(_ chat: SavedChat) {
        guard let data = try? JSONEncoder().encode(chat) else { return }
        try? data.write(to: url, options: .atomic)
    }
}
