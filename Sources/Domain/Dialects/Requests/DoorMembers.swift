import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// The members of an object in a request, in their order. Those that are null count as absent; of two equal names the last one counts.
struct DoorMembers {
    /// The limit of members of an object, and of elements of an array without a limit of its own.
    static let maximumMembers = 256

    /// The number of members up to which a name is searched among all of them, because that takes less time than an index.
    private static let mostSearched = 8

    /// The last value of each name, in the order in which the names came first.
    private var members: [(name: String, value: JSONSlice)] = []
    /// The places of the names in `members`, if they are many.
    private var places: [ExactText: Int] = [:]

    init(_ list: [(name: String, value: JSONSlice)]) {
        members.reserveCapacity(list.count)
        for (name, value) in list {
            if let place = place(of: name) {
                members[place].value = value
            } else {
                members.append((name, value))
                index()
            }
        }
    }

    /// Adds the last member to the index, or all members when they have become many.
    private mutating func index() {
        guard members.count > Self.mostSearched else { return }
        for place in (places.isEmpty ? 0 : members.count - 1)..<members.count {
            places[members[place].name] = place
        }
    }

    private func place(of name: String) -> Int? {
        guard places.isEmpty else { return places[name] }
        let name = ExactText(name)
        return members.firstIndex { ExactText($0.name) == name }
    }

    /// The names of the members.
    var names: [String] { members.filter { !$0.value.isNull }.map(\.name) }

    subscript(_ name: String) -> JSONSlice? {
        place(of: name).flatMap { members[$0].value.isNull ? nil : members[$0].value }
    }

    /// The text of a member; `nil` if it is absent.
    ///
    /// - Throws: `invalidRequest` for another type. `path` leads to the object, such as `messages[2].`.
    func string(_ name: String, in path: String = "") throws(RelayError) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw .wrongType(path + name, "a string") }
        return text
    }

    /// The boolean of a member; `nil` if it is absent.
    func boolean(_ name: String, in path: String = "") throws(RelayError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard let boolean = value.boolean else { throw .wrongType(path + name, "true or false") }
        return boolean
    }

    /// The members of a member; `nil` if it is absent.
    func object(_ name: String, in path: String = "") throws(RelayError) -> DoorMembers? {
        guard let value = self[name] else { return nil }
        guard let members = value.members() else {
            let noun = value.kind == .object ? "an object of at most \(Self.maximumMembers) members" : "an object"
            throw .wrongType(path + name, noun)
        }
        return members
    }

    /// The elements of a member; `nil` if it is absent.
    func array(
        _ name: String, in path: String = "", atMost limit: Int = maximumMembers
    ) throws(RelayError) -> [JSONSlice]? {
        guard let value = self[name] else { return nil }
        guard let elements = value.elements(atMost: limit) else {
            throw .wrongType(path + name, "an array of at most \(limit) elements")
        }
        return elements
    }

    /// Throws if the object has other members than the known ones.
    func require(only known: Set<String>, in path: String = "") throws(RelayError) {
        if let name = names.first(where: { name in !known.contains { $0 == name } }) {
            throw .unsupported(path + name, "chatterd does not know it.")
        }
    }
}

extension DoorMembers {
    /// The member `arguments` of a call of a tool, as the object that model servers want. A text may hold the object.
    ///
    /// A model may have broken a text off. Ollama and the chat templates of others refuse such a call, and would do so for as long as the
    /// conversation lasts: the text becomes the member `arguments` of an object.
    ///
    /// - Throws: `wrongType` for another value than an object, a text and `null`.
    func arguments(in path: String) throws(RelayError) -> [UInt8] {
        guard let object = ToolArguments.object(of: self["arguments"]) else {
            throw .wrongType(path + "arguments", "an object, or a text that holds one")
        }
        return object
    }
}
