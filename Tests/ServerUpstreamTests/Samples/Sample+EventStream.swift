import ChatterdTestSupport

extension Sample {
    /// Events on a stream, each in a separate chunk: lines that begin with a colon are comments, the others data.
    init(
        stream name: String, _ lines: String..., fields: [(String, String)] = [], isCut: Bool = false,
        events: [Event] = [], end: End = .done, text: String = "", thinking: String? = nil, extras: String? = nil
    ) {
        self.init(
            name: name, contentType: "text/event-stream", fields: fields,
            chunks: lines.map { $0.hasPrefix(":") ? $0 + "\n\n" : "data: \($0)\n\n" }, isCut: isCut, events: events,
            end: end, text: text, thinking: thinking, extras: extras)
    }

    /// An error before the stream.
    init(status: Int, _ body: String, type: String = "application/json", _ end: End) {
        self.init(
            name: "\(status) \(body)", status: status, contentType: type, chunks: body.isEmpty ? [] : [body], end: end)
    }

    /// The same with the first `count` chunks joined.
    func joining(_ count: Int) -> Sample {
        var copy = self
        copy.chunks = [chunks.prefix(count).joined()] + chunks.dropFirst(count)
        return copy
    }
}

/// Lines that chatterd makes from another dialect.
extension Sample.Event {
    /// A piece of the answer.
    static func text(_ id: String, _ text: String) -> Sample.Event {
        line(id, "\(opening)\"content\":\(jsonString(text))},\"done\":false}")
    }

    /// A piece of the model's thoughts.
    static func thinking(_ id: String, _ text: String) -> Sample.Event {
        line(id, "\(opening)\"content\":\"\",\"thinking\":\(jsonString(text))},\"done\":false}")
    }

    /// Calls of functions, as a JSON array.
    static func calls(_ id: String, _ calls: String) -> Sample.Event {
        line(id, "\(opening)\"content\":\"\",\"tool_calls\":\(calls)},\"done\":false}")
    }

    /// The last line; `counts` are its further members, beginning with a comma.
    static func done(_ id: String, _ reason: String = "stop", counts: String = "") -> Sample.Event {
        line(
            id,
            "\(opening)\"content\":\"\"},\"done\":true,\"done_reason\":\"\(reason)\",\"total_duration\":TIME\(counts)}")
    }

    private static var opening: String {
        "{\"model\":\"tiny\",\"created_at\":\"TIME\",\"message\":{\"role\":\"assistant\","
    }
}
