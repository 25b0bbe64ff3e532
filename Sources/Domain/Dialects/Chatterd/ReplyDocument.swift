import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// A reply as one JSON object, for clients that do not stream it.
public struct ReplyDocument {
    /// The object.
    public let json: ByteBuffer

    /// Describes a reply without its text.
    public init(_ reply: ReplyRecord) {
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                json.member("id", reply.id.description)
                Self.write(reply.state, to: &json)
            }
        }
        json = buffer
    }

    /// Describes a reply with its text so far.
    public init(_ reply: ReplyRecord, _ page: ReplyPage) {
        // The page is newer than the record.
        let state = page.ending?.state ?? reply.state
        var buffer = ByteBuffer()
        buffer.appendJSON { json in
            json.object { json in
                json.member("id", reply.id.description)
                json.member("model", reply.model)
                Self.write(state, to: &json)
                json.member("attempt", page.start.attempt)
                Self.write("created_at", microseconds: reply.createdAt, to: &json)
                Self.write("finished_at", microseconds: reply.finishedAt, to: &json)
                json.name("message")
                json.raw {
                    $0.append(
                        assistantSaying: page.text.span, thinking: page.thinking.span,
                        toolCalls: page.toolCalls.span)
                }
                if state == nil, let asked = page.steps?.steps.asked, !asked.isEmpty {
                    json.name("approvals")
                    json.raw { $0.append(asked) }
                }
                json.member("done", state != nil)
                if !reply.provenance.isEmpty {
                    // The provenance is a list of members already.
                    json.raw { $0.append(Self.withTimes(of: page.ending, reply.provenance)) }
                }
                if let ending = page.ending {
                    Self.write(otherMembersOf: ending.lastEvent.span, to: &json)
                }
            }
        }
        json = buffer
    }

    /// The provenance, whose receipt, the last member, has the times of the last event too. They are stored once.
    private static func withTimes(of ending: ReplyEnding?, _ provenance: [UInt8]) -> [UInt8] {
        guard let last = ending?.lastEvent, provenance.last == UInt8(ascii: "}") else { return provenance }
        var result = ByteBuffer(capacity: provenance.count + 64)
        result.append(Array(provenance.dropLast()))
        JSONMembers.forEach(of: last.span) { reader, key, value in
            guard ReplyTimings.isName(key, reader) else { return }
            result.append(",\"")
            result.append(last.span.extracting(key.range))
            result.append("\":")
            result.append(last.span.extracting(value))
        }
        result.append("}")
        return result.array
    }

    private static func write(_ state: ReplyState?, to json: inout JSONWriter) {
        json.member("state", state?.rawValue ?? "streaming")
    }

    /// Writes the time of day, given in microseconds since 1970; `nil` writes no member.
    private static func write(_ name: String, microseconds: Int64?, to json: inout JSONWriter) {
        guard let microseconds else { return }
        json.name(name)
        json.raw { buffer in
            buffer.append("\"")
            buffer.append(rfc3339: microseconds.multipliedReportingOverflow(by: 1000).partialValue)
            buffer.append("\"")
        }
    }

    /// Writes the other members of the last event: the reason of the end, counts and times; or the error.
    private static func write(otherMembersOf lastEvent: Span<UInt8>, to json: inout JSONWriter) {
        JSONMembers.forEach(of: lastEvent) { reader, key, value in
            let isKnown =
                reader.matches(key, "id") || reader.matches(key, "model") || reader.matches(key, "state")
                || reader.matches(key, "attempt") || reader.matches(key, "created_at")
                || reader.matches(key, "finished_at") || reader.matches(key, "message") || reader.matches(key, "done")
            guard !isKnown else { return }
            json.raw { buffer in
                buffer.append("\"")
                buffer.append(lastEvent.extracting(key.range))
                buffer.append("\":")
                buffer.append(lastEvent.extracting(value))
            }
        }
    }
}
