import ChatterdBasics
import ChatterdRelay

/// The member `metadata` of a request: pairs of texts, which chatterd keeps for the client.
enum DoorMetadata {
    static let maximumPairs = 16
    /// The limits of a name and of a text, in Unicode scalars.
    static let maximumName = 64
    static let maximumText = 512

    /// The pairs as JSON without braces, without those that are null or repeated; empty without any.
    ///
    /// - Parameter name: the name of a pair that is treated elsewhere.
    static func json(of members: DoorMembers, without name: String? = nil) throws(RelayError) -> [UInt8] {
        guard let metadata = try members.object("metadata") else { return [] }
        guard metadata.names.count <= maximumPairs else {
            throw .invalid("metadata has more than \(maximumPairs) members.", "metadata")
        }
        var json = ByteBuffer()
        for pair in metadata.names where pair != name {
            guard pair.unicodeScalars.count <= maximumName, let text = metadata[pair]?.string,
                text.unicodeScalars.count <= maximumText
            else {
                throw .invalid(
                    "metadata has names of at most \(maximumName) characters, and texts of at most \(maximumText).",
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
