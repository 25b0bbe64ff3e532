import ChatterdBasics
import ChatterdConfiguration
import ChatterdJSONLog
import ChatterdLanguageModels
import ChatterdModelServers
import ChatterdPostgresStore
import ChatterdRelay

/// A reply as one JSON object, for clients that do not stream it.
struct ReplyDocument {
    /// The object.
    private(set) var json = ByteBuffer()

    /// Describes a reply without its text.
    init(_ reply: ReplyRecord) {
        appendName(of: reply.id)
        append(state: reply.state)
        json.append("}")
    }

    /// Describes a reply with what there is of it.
    init(_ reply: ReplyRecord, _ page: ReplyPage) {
        // The page was read after the record.
        let state = page.ending?.state ?? reply.state
        appendName(of: reply.id)
        json.append(",\"model\":")
        json.append(jsonString: reply.model)
        append(state: state)
        json.append(",\"attempt\":")
        json.append(decimal: page.start.attempt)
        append(",\"created_at\":\"", microseconds: reply.createdAt)
        if let finishedAt = reply.finishedAt {
            append(",\"finished_at\":\"", microseconds: finishedAt)
        }
        json.append(",\"message\":")
        json.append(
            assistantSaying: page.text.span, thinking: page.thinking.span, toolCalls: page.toolCalls.span)
        json.append(state == nil ? ",\"done\":false" : ",\"done\":true")
        if !reply.account.isEmpty {
            json.append(",")
            json.append(reply.account)
        }
        if let ending = page.ending {
            append(membersOf: ending.lastEvent.span)
        }
        json.append("}")
    }

    private mutating func appendName(of id: ReplyID) {
        json.append("{\"id\":\"")
        json.append(utf8: id.description)
        json.append("\"")
    }

    private mutating func append(state: ReplyState?) {
        json.append(",\"state\":")
        json.append(jsonString: state?.rawValue ?? "streaming")
    }

    private mutating func append(_ key: StaticString, microseconds: Int64) {
        json.append(key)
        json.append(rfc3339: microseconds.multipliedReportingOverflow(by: 1000).partialValue)
        json.append("\"")
    }

    /// Appends what the last event says beyond what stands here already: why it ended, counts, times; or what went wrong.
    private mutating func append(membersOf lastEvent: Span<UInt8>) {
        JSONMembers.forEach(of: lastEvent) { reader, key, value in
            let isKnown =
                reader.matches(key, "id") || reader.matches(key, "model") || reader.matches(key, "state")
                || reader.matches(key, "attempt") || reader.matches(key, "created_at")
                || reader.matches(key, "finished_at") || reader.matches(key, "message") || reader.matches(key, "done")
            guard !isKnown else { return }
            json.append(",\"")
            json.append(lastEvent.extracting(key.range))
            json.append("\":")
            json.append(lastEvent.extracting(value))
        }
    }
}
