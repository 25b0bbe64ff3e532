import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The body of a request that creates or changes a conversation of Open Responses, or adds items to one. One member of its metadata is the title.
public struct ConversationBody: Sendable {
    /// The members of a conversation that the request sets.
    public private(set) var change = ConversationChange.Title.unchanged
    /// The metadata beside the title, as JSON without braces; empty without any.
    public private(set) var metadata = ""
    /// The messages with which the conversation begins, or which are added.
    public private(set) var messages: [ModelMessage] = []
    /// What chatterd ignores of the messages.
    public private(set) var ignored: IgnoredMembers

    /// Reads the body of a request for a new conversation; it may be empty.
    public init(creating body: [UInt8], _ policy: DoorPolicy) throws(RelayError) {
        ignored = IgnoredMembers(policy)
        if body.isEmpty { return }
        let members = try Self.members(of: body, ["metadata", "items"])
        change = try Self.title(members)
        metadata = try Self.metadata(members)
        if let items = members["items"], items.elements()?.isEmpty != true {
            messages = try ResponseInput.translate(items: items, "items", ignored: &ignored)
        }
    }

    /// Reads the body of a request for a change.
    public init(changing body: [UInt8]) throws(RelayError) {
        ignored = IgnoredMembers(.lenient)
        let members = try Self.members(of: body, ["metadata"])
        guard members["metadata"] != nil else { throw .invalid("metadata is missing.", "metadata") }
        change = try Self.title(members)
        // All metadata are replaced.
        if change == .unchanged { change = .removed }
        metadata = try Self.metadata(members)
    }

    /// Reads the body of a request that adds items.
    public init(adding body: [UInt8], _ policy: DoorPolicy) throws(RelayError) {
        ignored = IgnoredMembers(policy)
        guard let items = try Self.members(of: body, ["items"])["items"] else {
            throw .invalid("items is missing.", "items")
        }
        guard items.kind == .array else { throw .wrongType("items", "an array of items") }
        messages = try ResponseInput.translate(items: items, "items", ignored: &ignored)
    }

    private static func members(of body: [UInt8], _ known: Set<String>) throws(RelayError) -> DoorMembers {
        let value: JSONSlice
        do throws(JSONError) {
            value = try JSONSlice(body)
        } catch {
            throw .invalid(body.isEmpty ? "The body is empty." : "The body is not JSON: \(error).")
        }
        guard let members = value.members() else { throw .wrongType("The body", "a JSON object") }
        try members.require(only: known)
        return members
    }

    private static func title(_ members: DoorMembers) throws(RelayError) -> ConversationChange.Title {
        guard let title = try DoorMetadata.pairs(of: members)?["title"] else { return .unchanged }
        do throws(ChatRequestError) {
            return try ConversationChange(decoding: (Array("{\"title\":".utf8) + title.json + Array("}".utf8)).span)
                .title
        } catch {
            throw .invalid(error.message, "metadata.title")
        }
    }

    private static func metadata(_ members: DoorMembers) throws(RelayError) -> String {
        String(decoding: try DoorMetadata.json(of: members, without: "title"), as: UTF8.self)
    }

    /// Appends a conversation as an object.
    ///
    /// - Parameter metadata: the metadata beside the title, as JSON without braces; empty without any.
    public static func append(
        id: String, createdAt seconds: Int, title: String?, metadata: String, to body: inout ByteBuffer
    ) {
        body.appendJSON { json in
            json.object { json in
                json.member("id", id)
                json.member("object", "conversation")
                json.member("created_at", seconds)
                json.name("metadata")
                json.raw { buffer in
                    buffer.append("{")
                    if let title {
                        buffer.append("\"title\":")
                        buffer.append(jsonString: title)
                        if !metadata.isEmpty { buffer.append(",") }
                    }
                    buffer.append(utf8: metadata)
                    buffer.append("}")
                }
            }
        }
    }
}
