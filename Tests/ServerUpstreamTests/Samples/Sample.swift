import ChatterdTestSupport
import Testing

@testable import ChatterdServerTestSupport

/// A recorded answer of a real model server, with the expected bytes of the client and rows.
struct Sample: Sendable {
    /// One event that the client must see.
    struct Event: Sendable {
        let id: String
        /// The data; `nil` for the model server's own line, verbatim.
        var data: String?

        /// A line; without `data`, the next line of the model server.
        static func line(_ id: String, _ data: String? = nil) -> Event { Event(id: id, data: data) }
    }

    /// How the turn ends.
    enum End: Sendable {
        /// With the last of the lines.
        case done
        /// With an error event of this code and message.
        case error(String, String, retryable: Bool = true)

        /// Regularly, but without the last line.
        static let incomplete = error(
            "upstream_incomplete", "The model server ended its answer before it was complete.")
        /// Regularly, without any text.
        static let empty = error("upstream_incomplete", "The model server's answer was empty.")
        /// With a connection that breaks.
        static let broken = error(
            "upstream_incomplete", "The connection to the model server broke in the middle of its answer.")
        /// With a wrong key.
        static let refused = error("upstream_auth", "The model server refused access: its key must be corrected.")
    }

    /// The subject, unique among the samples of a server; also the prompt.
    let name: String
    var status = 200
    var contentType: String
    /// Further fields of the answer's head.
    var fields: [(String, String)] = []
    /// The body, in its original chunks.
    var chunks: [String]
    /// Whether the connection broke before the end of the body.
    var isCut = false
    /// The events before the end.
    var events: [Event] = []
    var end = End.done
    /// The text that is stored.
    var text = ""
    var thinking: String?
    /// Further members of the message that is stored.
    var extras: String?

    /// The steps of the model server.
    ///
    /// The chunks after the reason of the end come in one write with it, because chatterd waits only two seconds for counts.
    var steps: [UpstreamStep] {
        let last = chunks.firstIndex { $0.contains(/"finish_reason": ?"/) } ?? chunks.endIndex
        let end = chunks[last...].map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
        return [.head(status, [("Content-Type", contentType), ("Transfer-Encoding", "chunked")] + fields)]
            + chunks[..<last].map { .chunk($0) } + (end.isEmpty ? [] : [.send(end)])
            + [isCut ? .closeWithoutFinishingChunks : .endChunks]
    }

    /// The expected bytes of the client, with `TIME` for times and durations of chatterd.
    var stream: String {
        let own = chunks.joined().split(separator: "\n").makeIterator()
        var lines = own
        var stream = events.map { "id: \($0.id)\ndata: \($0.data ?? lines.next().map(String.init) ?? "missing")\n\n" }
        if case .error(let code, let words, let isRetryable) = end {
            let error = "\"error\":\(goString(words)),\"code\":\"\(code)\",\"retryable\":\(isRetryable)"
            let message = "\"message\":{\"role\":\"assistant\",\"content\":\(goString(words))}"
            let id = events.last?.id ?? "0"
            stream.append(
                "id: \(id)-end\nevent: error\n"
                    + "data: {\(error),\"model\":\"tiny\",\"created_at\":\"TIME\",\(message),\"done\":true}\n\n")
        }
        return stream.joined()
    }

    /// The stored row of the reply: role, text, state, thinking, further members.
    var row: [String?] {
        let state = if case .done = end { "complete" } else { "failed" }
        return ["assistant", text, state, thinking, extras]
    }
}

/// A JSON string as in chatterd's own lines, with as few escapes as allowed.
private func goString(_ text: String) -> String {
    jsonString(text).replacing("\\u003c", with: "<").replacing("\\u003e", with: ">").replacing("\\u0026", with: "&")
}

/// The samples of one server.
struct SampleServer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The kind in the configuration.
    let kind: String
    let samples: [Sample]

    init(_ name: String, kind: String, _ samples: [Sample]) {
        testDescription = name
        self.kind = kind
        self.samples = samples
    }
}
