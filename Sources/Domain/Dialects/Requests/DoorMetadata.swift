import ChatterdBasics
import ChatterdRelay

/// The member `metadata` of a request: pairs of texts, which chatterd keeps for the client.
enum DoorMetadata {
    private typealias Limits = ConversationMetadata

    /// The pairs; `nil` without any.
    static func pairs(of members: DoorMembers) throws(RelayError) -> DoorMembers? {
        guard let value = members["metadata"] else { return nil }
        guard value.kind == .object else { throw .wrongType("metadata", "an object") }
        guard let pairs = value.members(), pairs.names.count <= Limits.maximumPairs else {
            throw .invalid("metadata has more than \(Limits.maximumPairs) members.", "metadata")
        }
        return pairs
    }

    /// The pairs as JSON without braces, without those that are null or repeated; empty without any.
    ///
    /// - Parameter name: the name of a pair that is treated elsewhere.
    static func json(of members: DoorMembers, without name: String? = nil) throws(RelayError) -> [UInt8] {
        guard let metadata = try pairs(of: members) else { return [] }
        var json = ByteBuffer()
        for pair in metadata.names where pair != name {
            guard let text = metadata[pair]?.string, Limits.permits(pair, text) else {
                throw .invalid(
                    "metadata has names of at most \(Limits.maximumName) characters, and texts of at most "
                        + "\(Limits.maximumText).",
                    "metadata.\(pair)")
            }
            if !json.isEmpty { json.append(",") }
            json.append(jsonString: pair)
            json.append(":")
            json.append(jsonString: text)
        }
        return json.array
    }
}
