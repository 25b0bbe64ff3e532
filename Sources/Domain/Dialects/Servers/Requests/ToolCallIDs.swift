import ChatterdBasics

/// The ids of the tool calls of a conversation. The servers of OpenAI's APIs and Llama Stack require one for each call and each result; Ollama's
/// do not. A call and a result take constant time, however many calls wait for their results.
///
/// Ids and names are the insides of JSON strings, or UTF-8: the same form for all of a conversation.
struct ToolCallIDs {
    private var ids: [[UInt8]] = []
    private var names: [[UInt8]] = []
    /// Whether the call with this index has no result yet.
    private var isOpen: [Bool] = []
    /// The indexes of calls, oldest first. Those that are closed are removed when they are the first.
    private var byID: [[UInt8]: Queue<Int>] = [:]
    private var byName: [[UInt8]: Queue<Int>] = [:]
    private var all = Queue<Int>()
    /// The numbers of calls without a result: of each name, and of all.
    private var openByName: [[UInt8]: Int] = [:]
    private var openCount = 0
    private var made = 0

    /// The id of a call: its own, or a new one.
    mutating func id(ofCall id: [UInt8], name: [UInt8]) -> [UInt8] {
        let id = id.isEmpty ? newID() : id
        byID[id, default: Queue()].append(ids.count)
        byName[name, default: Queue()].append(ids.count)
        all.append(ids.count)
        ids.append(id)
        names.append(name)
        isOpen.append(true)
        openByName[name, default: 0] += 1
        openCount += 1
        return id
    }

    /// The id of a result, and whether its call is known. The call is the first one with the same id; for a result without an id the first one
    /// with the same name, or of all; for one with an id that no call has, the only one with the same name, or of all.
    ///
    /// The history of a client may be stored with other ids than its own (docs/decisions/0059-conversations-by-history.md).
    mutating func id(ofResult id: [UInt8], name: [UInt8]) -> (id: [UInt8], isKnown: Bool) {
        while let index = nextCall(id, name) {
            guard isOpen[index] else { continue }
            isOpen[index] = false
            openByName[names[index], default: 1] -= 1
            openCount -= 1
            return (ids[index], true)
        }
        return (id.isEmpty ? newID() : id, false)
    }

    /// The next call that a result may belong to, open or not.
    private mutating func nextCall(_ id: [UInt8], _ name: [UInt8]) -> Int? {
        if byID[id] != nil { return byID[id]?.popFirst() }
        guard id.isEmpty || (name.isEmpty ? openCount : openByName[name]) == 1 else { return nil }
        return name.isEmpty ? all.popFirst() : byName[name]?.popFirst()
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
