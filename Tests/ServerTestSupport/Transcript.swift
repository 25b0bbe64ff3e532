import ChatterdRelay
import ChatterdTestSupport
import Foundation
import Testing

/// The bytes of one answer, as a client parses them.
struct Transcript {
    /// The end of the answer.
    enum Outcome: Equatable {
        /// With a line that has `"done":true`.
        case done
        /// With an error event of this code.
        case error(String)
        /// Without an end: never allowed.
        case none
    }

    let exchange: HTTPExchange
    /// The `data:` values of all events except errors.
    let lines: [String]
    /// The text of those lines, joined.
    let text: String
    let outcome: Outcome
    /// The error event's object.
    let error: [String: Any]
    private let start: ReplyPosition

    /// - Parameter start: the position from which the client resumes.
    init(_ exchange: HTTPExchange, from start: ReplyPosition = ReplyPosition()) {
        self.exchange = exchange
        self.start = start
        let data = exchange.events.filter { $0.data != nil }
        lines = data.filter { $0.name == nil }.compactMap(\.data)
        text = lines.map { Line($0)?.message.content ?? "" }.joined()
        if let last = data.last, last.name == "error" {
            error = object(last.data ?? "")
            outcome = .error(error["code"] as? String ?? "no code")
        } else {
            error = [:]
            outcome = object(data.last?.data ?? "")["done"] as? Bool == true ? .done : .none
        }
    }

    /// The message of the error event.
    var words: String { error["error"] as? String ?? "" }

    /// Checks the rules for every stream.
    func check(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(exchange.status == 200, sourceLocation: sourceLocation)
        #expect(exchange["Content-Type"]?.hasPrefix("text/event-stream") == true, sourceLocation: sourceLocation)
        #expect(exchange.end == .complete, sourceLocation: sourceLocation)
        #expect(
            outcome != .none, "a stream without an end: \(exchange.text.suffix(300))", sourceLocation: sourceLocation)
        checkGrammar(sourceLocation)
        checkEnd(sourceLocation)
        checkSeedClient(sourceLocation)
    }

    private func checkGrammar(_ sourceLocation: SourceLocation) {
        let events = exchange.events
        #expect(events.flatMap(\.bytes) == exchange.body, "bytes outside of events", sourceLocation: sourceLocation)
        #expect(!exchange.body.contains(13), "a CR on the stream", sourceLocation: sourceLocation)
        #expect(!exchange.body.contains(0), "a NUL on the stream", sourceLocation: sourceLocation)
        #expect(String(validating: exchange.body, as: UTF8.self) != nil, "not UTF-8", sourceLocation: sourceLocation)
        for line in exchange.text.split(separator: "\n") {
            #expect(line.contains(":"), "a line without a colon: \(line)", sourceLocation: sourceLocation)
        }
        checkPositions(sourceLocation)
    }

    /// Checks that the id of each event is the position after it.
    private func checkPositions(_ sourceLocation: SourceLocation) {
        var position = start
        for event in exchange.events where event.data != nil {
            let id = event.id.flatMap { ReplyPosition(parsing: $0) }
            if let message = event.name == nil ? Line(event.data ?? "")?.message : nil {
                position.text += (message.content ?? "").utf8.count
                position.thinking += (message.thinking ?? "").utf8.count
            }
            position.toolCalls = max(position.toolCalls, id?.toolCalls ?? 0)
            position.isEnd = event.name == "error" || object(event.data ?? "")["done"] as? Bool == true
            // An error without an id does not belong to the reply.
            guard event.name == nil || event.id != nil else { continue }
            #expect(id == position, "\(event.id ?? "no id")", sourceLocation: sourceLocation)
        }
    }

    private func checkEnd(_ sourceLocation: SourceLocation) {
        let errors = exchange.events.filter { $0.name == "error" }
        let dones = lines.filter { object($0)["done"] as? Bool == true }
        #expect(errors.count + dones.count == 1, "one end, and only one", sourceLocation: sourceLocation)
        guard case .error = outcome else { return }
        let message = error["message"] as? [String: Any] ?? [:]
        #expect(!words.isEmpty, sourceLocation: sourceLocation)
        #expect(error["retryable"] is Bool, sourceLocation: sourceLocation)
        #expect(error["model"] is String, sourceLocation: sourceLocation)
        #expect(error["created_at"] is String, sourceLocation: sourceLocation)
        #expect(message["role"] as? String == "assistant", sourceLocation: sourceLocation)
        #expect(message["content"] as? String == words, sourceLocation: sourceLocation)
        #expect(error["done"] as? Bool == true, sourceLocation: sourceLocation)
    }

    /// Checks that the tutorial's client survives the stream with any cut, and shows the text and the error's message.
    private func checkSeedClient(_ sourceLocation: SourceLocation) {
        let whole = SeedClient(exchange.body)
        let alert = outcome == .done ? "" : words
        let bubble = text + (outcome == .done ? "" : "\n\n**llmChat Error**: \(words)\n\n")
        #expect(Array(whole.message.utf8) == Array(bubble.utf8), sourceLocation: sourceLocation)
        #expect(whole.errMsg == alert, sourceLocation: sourceLocation)
        #expect(whole.violation == nil && whole.unknownEvents.isEmpty, sourceLocation: sourceLocation)

        var broken: (Int, String)?
        var last = 0
        SeedClient.afterEveryCut(of: exchange.body) { position, client in
            let length = client.message.utf8.count
            let isSound =
                client.violation == nil && length >= last && (client.errMsg.isEmpty || client.errMsg == alert)
                && (length == last || bubble.utf8.starts(with: client.message.utf8))
            if !isSound && broken == nil { broken = (position, client.message) }
            last = length
        }
        #expect(broken == nil, "the stream cut at this byte misleads the client", sourceLocation: sourceLocation)
    }
}

/// A line of an answer. Decoded, because JSONSerialization loses U+FEFF.
private struct Line: Decodable {
    struct Message: Decodable {
        let content: String?
        let thinking: String?
    }

    let message: Message

    init?(_ json: String) {
        guard let line = try? JSONDecoder().decode(Line.self, from: Data(json.utf8)) else { return nil }
        self = line
    }
}

/// A JSON text as an object; empty for any other text.
func object(_ json: String) -> [String: Any] {
    let value = try? JSONSerialization.jsonObject(with: Data(json.utf8))
    return value as? [String: Any] ?? [:]
}
