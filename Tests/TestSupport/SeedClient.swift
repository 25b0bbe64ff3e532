import Foundation

/// The phone client of the course's tutorial: its SSE loop, transcribed line by line, with its crash as a value.
public struct SeedClient: Sendable {
    private enum EventType {
        case error
        case message
    }

    private struct OllamaMessage: Codable {
        let role: String
        let content: String?
    }

    private struct OllamaResponse: Decodable {
        let model: String
        let created_at: String
        let message: OllamaMessage
    }

    private struct OllamaError: Decodable {
        let error: String
    }

    /// The text in the chat bubble.
    public private(set) var message = ""
    /// The text of the alert.
    public private(set) var errMsg = ""
    /// The line that would have crashed the app: it is not empty and has no colon.
    public private(set) var violation: String?
    /// Event names that the client does not know.
    public private(set) var unknownEvents: [String] = []
    /// Whether the loop is inside an error event.
    public var isInError: Bool { event == .error }
    private var event = EventType.message
    private var line = ""

    /// Creates a client before the stream.
    public init() {}

    /// The client after a whole stream. Bytes that are not UTF-8 are replaced, as the client's character sequence does.
    public init(_ bytes: [UInt8]) {
        for character in String(decoding: bytes, as: UTF8.self) { feed(character) }
    }

    /// Processes the next character; CR LF is one.
    public mutating func feed(_ character: Character) {
        guard violation == nil else { return }
        if character != "\n" && character != "\r\n" {
            line.append(character)
            return
        }
        if line.isEmpty {
            if event == .error {
                message.append("\n\n**llmChat Error**: \(errMsg)\n\n")
            }
            event = .message
            return
        }
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            violation = line
            return
        }
        let value = parts[1].trimmingCharacters(in: .whitespaces)
        if parts[0].starts(with: "event") {
            if value == "error" {
                event = .error
            } else if !value.isEmpty && value != "message" {
                unknownEvents.append(value)
            }
        } else if parts[0].starts(with: "data") {
            handleData(value)
        }
        line = ""
    }

    /// The client after each prefix of a stream, from the empty one to the whole stream.
    public static func afterEveryCut(of bytes: [UInt8], _ check: (Int, SeedClient) throws -> Void) rethrows {
        var client = SeedClient()
        var position = 0
        try check(0, client)
        for character in String(decoding: bytes, as: UTF8.self) {
            let size = character.utf8.count
            for part in 1..<max(1, size) where position + part < bytes.count {
                var cut = client
                for half in String(decoding: bytes[position..<(position + part)], as: UTF8.self) { cut.feed(half) }
                try check(position + part, cut)
            }
            client.feed(character)
            position += size
            try check(position, client)
        }
    }

    private mutating func handleData(_ value: String) {
        let data = Data(value.utf8)
        do {
            let response = try JSONDecoder().decode(OllamaResponse.self, from: data)
            if let token = response.message.content {
                if event == .error {
                    errMsg += token
                } else {
                    message.append(token)
                }
            }
        } catch {
            errMsg += parseErr(code: "\(error)", data: data)
        }
    }

    private func parseErr(code: String, data: Data) -> String {
        if let known = try? JSONDecoder().decode(OllamaError.self, from: data) { return known.error }
        return "\(code)\n/llmchat\n\(String(decoding: data, as: UTF8.self))"
    }
}
