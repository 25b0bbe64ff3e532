import ChatterdBasics

/// The ids of the tool calls of a conversation. The servers of OpenAI's APIs and Llama Stack require one for each call and each result; Ollama's
/// do not. A call and a result take constant time, however many calls wait for their results.
///
/// Ids and names are the insides of JSON strings, or UTF-8: the same form for all of a conversation.
struct ToolCallIDs {
    private var ids: [[UInt8]] = []
    /// Whether the call with this index has no result yet.
    private var isOpen: [Bool] = []
    /// The indexes of calls, oldest first. Those that are closed are removed when they are the first.
    private var byID: [[UInt8]: Queue<Int>] = [:]
    private var byName: [[UInt8]: Queue<Int>] = [:]
    private var all = Queue<Int>()
    private var made = 0

    /// The id of a call: its own, or a new one.
    mutating func id(ofCall id: [UInt8], name: [UInt8]) -> [UInt8] {
        let id = id.isEmpty ? newID() : id
        byID[id, default: Queue()].append(ids.count)
        byName[name, default: Queue()].append(ids.count)
        all.append(ids.count)
        ids.append(id)
        isOpen.append(true)
        return id
    }

    /// The id of a result, and whether its call is known. The call is the first one with the same id; for a result without an id the first one with
    /// the same name, or of all.
    mutating func id(ofResult id: [UInt8], name: [UInt8]) -> (id: [UInt8], isKnown: Bool) {
        while let index = id.isEmpty ? name.isEmpty ? all.popFirst() : byName[name]?.popFirst() : byID[id]?.popFirst() {
            guard isOpen[index] else { continue }
            isOpen[index] = false
            return (ids[index], true)
        }
        return (id.isEmpty ? newID() : id, false)
    }

    /// Forgets the calls that have no results.
    mutating func removeAll() {
        let made = made
        self = ToolCallIDs()
        self.made = made
    }

    private mutating func newID() -> [UInt8] {
        made += 1
        return [UInt8]("call_\(made)".utf8)
    }
}
