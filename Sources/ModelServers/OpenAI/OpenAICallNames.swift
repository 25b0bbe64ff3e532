import ChatterdLanguageModels

/// The ids of the tool calls of a conversation. OpenAI's servers require one for each call and each result; Ollama's do not.
///
/// Ids and names are the insides of JSON strings.
struct OpenAICallNames {
    /// The limit of stored calls, because each result is searched among them.
    private static let limit = 1_000

    /// The calls without a result.
    private var open: [(id: [UInt8], name: [UInt8])] = []
    private var made = 0

    /// The id of a call: its own, or a new one.
    mutating func id(ofCall id: [UInt8], name: [UInt8]) -> [UInt8] {
        let id = id.isEmpty ? newID() : id
        if open.count < Self.limit {
            open.append((id, name))
        }
        return id
    }

    /// The id of a result, and whether its call is known. The call is the one with the same id, else the first with the same name, else
    /// the first.
    mutating func id(ofResult id: [UInt8], name: [UInt8]) -> (id: [UInt8], isKnown: Bool) {
        let index =
            id.isEmpty
            ? open.firstIndex { $0.name == name } ?? (name.isEmpty ? open.indices.first : nil)
            : open.firstIndex { $0.id == id }
        guard let index else { return (id.isEmpty ? newID() : id, false) }
        return (open.remove(at: index).id, true)
    }

    private mutating func newID() -> [UInt8] {
        made += 1
        return [UInt8]("call_\(made)".utf8)
    }
}
