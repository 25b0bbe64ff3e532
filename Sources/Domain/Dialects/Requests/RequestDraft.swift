import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// A request to a model as it grows out of the body of a request to a door.
struct RequestDraft {
    /// What a door does with members that are not in its table.
    enum Others {
        /// They go to the model server, which may know them.
        case passed
        /// chatterd ignores them, and tells the client.
        case ignored
    }

    /// The members of the body.
    let body: DoorMembers
    /// The model; empty if the body names none.
    private(set) var model = ""
    var messages: [ModelMessage] = []
    var stream = false
    /// The members of `options`.
    private(set) var options: [RawMember] = []
    /// What has no effect of the request.
    var ignored: IgnoredMembers
    /// The path in which the client asks for thoughts that its answer may lack; `nil` for none.
    private(set) var thinking: String?
    /// The members for the model server beside `options`.
    private(set) var passThrough: [RawMember] = []

    /// Reads a body, and treats its members by a table, except those that the dialect translates itself.
    ///
    /// - Throws: `invalidRequest` for a body that is not an object, and of refused members.
    init(
        _ bytes: [UInt8], _ fields: [DoorField], others: Others, _ policy: DoorPolicy = .lenient
    ) throws(RelayError) {
        ignored = IgnoredMembers(policy)
        let value: JSONSlice
        do throws(JSONError) {
            value = try JSONSlice(bytes)
        } catch {
            throw .invalid(bytes.isEmpty ? "The body is empty." : "The body is not JSON: \(error).")
        }
        guard let members = value.members() else {
            throw .wrongType("The body", "a JSON object of at most \(DoorMembers.maximumMembers) members")
        }
        body = members
        if let name = try members.string("model") {
            guard name.utf8.count <= ModelName.maximumLength else {
                throw .invalid("model has more than \(ModelName.maximumLength) bytes.", "model")
            }
            guard name.isEmpty || ModelName.isValid(name) else {
                throw .invalid("model must not contain control characters.", "model")
            }
            model = name
        }
        for name in members.names {
            guard let value = members[name] else { continue }
            guard let field = fields.first(where: { $0.name == name }) else {
                switch others {
                case .passed: pass(name, value.json)
                case .ignored: try ignored.add(name, "chatterd does not know it.")
                }
                continue
            }
            try treat(value, by: field)
        }
    }

    private mutating func treat(_ value: JSONSlice, by field: DoorField) throws(RelayError) {
        switch field.treatment {
        case .passed: pass(field.name, value.json)
        case .option(let name): option(name, value.json)
        case .translated: break
        case .ignored(let reason):
            if !field.isHarmless(value) { try ignored.add(field.name, reason) }
        case .refused(let reason):
            guard field.isHarmless(value) else {
                throw .unsupported(field.name, reason)
            }
        }
    }

    /// Adds a member for the model server.
    mutating func pass(_ name: String, _ json: [UInt8]) {
        passThrough.append(RawMember(key: name, value: json))
    }

    /// Adds `think`. A model that cannot think answers without, unless the policy is `strict`.
    ///
    /// - Parameter path: the path in which the client asks for thoughts, or forbids them.
    mutating func think(_ json: [UInt8], askedIn path: String) {
        pass("think", json)
        thinking = ignored.policy == .strict || json == Array("false".utf8) ? nil : path
    }

    /// Adds a member of `options`.
    mutating func option(_ name: String, _ json: [UInt8]) {
        options.append(RawMember(key: name, value: json))
    }

    /// Ignores all members of `stream_options` but the known ones, and those that ask for nothing.
    mutating func ignore(allBut known: Set<String>, ofStreamOptions options: DoorMembers?) throws(RelayError) {
        guard let options else { return }
        try options.ignore(allBut: known, in: "stream_options.", as: &ignored) { options[$0]?.boolean == false }
    }

    /// Adds the limit of the answer, in tokens. Some clients send -1 for no limit, which only some model servers know.
    ///
    /// - Parameter name: the member with the limit; the request may lack it.
    mutating func limitAnswer(by name: String) throws(RelayError) {
        guard let limit = body[name] else { return }
        let number = limit.wholeNumber ?? 0
        guard number > 0 || number == -1 else {
            throw .wrongType(name, "a whole number above 0, or -1 for no limit")
        }
        if number > 0 { option("num_predict", Array(String(number).utf8)) }
    }

    /// Adds a text or a list of texts at which the answer stops, as a list.
    mutating func stop(at value: JSONSlice?) {
        guard let value else { return }
        option("stop", value.kind == .array ? value.json : Array("[".utf8) + value.json + Array("]".utf8))
    }

    /// The body of a request to an Ollama that is passed on: its name for the model, these members, and those that were treated.
    ///
    /// - Throws: `invalidRequest` for a name that a model server could confuse with another one.
    consuming func ollamaBody(asking name: String, with members: [RawMember]) throws(RelayError) -> [UInt8] {
        let treated = try finish().passThrough
        var body = ByteBuffer()
        body.append("{\"model\":")
        body.append(jsonString: name)
        body.append(",")
        body.append(members + treated)
        body.append("}")
        return body.array
    }

    /// The request, when all members are treated.
    ///
    /// - Throws: `invalidRequest` for a name that a model server could confuse with another one.
    consuming func finish() throws(RelayError) -> ChatRequest {
        var members = passThrough
        if !options.isEmpty {
            // A client of another API may send options for an Ollama as well. The members of its own API count.
            let others = try Self.options(in: members).filter { other in !options.contains { $0.key == other.key } }
            members.removeAll { $0.key == "options" }
            var object = ByteBuffer()
            object.append("{")
            object.append(others + options)
            object.append("}")
            members.append(RawMember(key: "options", value: object.array))
        }
        do throws(ChatRequestError) {
            try ChatRequest.checkNames(of: members)
        } catch {
            throw .invalid(error.message, error.field)
        }
        return ChatRequest(appID: nil, model: model, messages: messages, stream: stream, passThrough: members)
    }

    /// The members of a passed member `options`.
    private static func options(in members: [RawMember]) throws(RelayError) -> [RawMember] {
        guard let options = members.last(where: { $0.key == "options" }) else { return [] }
        do throws(JSONError) {
            return try RawMember.members(of: options.value)
        } catch {
            throw .wrongType("options", "an object")
        }
    }
}
