import ChatterdBasics

/// The tools of a device in a request to `/llmtools`, in Ollama's form.
///
/// The conversation keeps them, and each later turn sends them again. So what a model server would refuse is refused here.
enum ToolSchemas {
    /// Reads tools that are a JSON array.
    ///
    /// - Returns: them as a JSON array. A function whose `parameters` are null or absent has an object without members: servers of other APIs
    ///   refuse null.
    /// - Throws: the first problem that is found.
    static func decode(_ value: [UInt8]) throws(ChatRequestError) -> [UInt8] {
        guard value.count <= ChatRequest.maximumToolsSize else {
            throw .tooManyBytes("tools", count: value.count, limit: ChatRequest.maximumToolsSize)
        }
        let tools: JSONSlice
        do {
            tools = try JSONSlice(value)
        } catch {
            throw .notJSON(error)
        }
        guard let elements = tools.elements(first: ChatRequest.maximumTools + 1) else {
            throw .wrongType(path: "tools", wanted: "an array", found: tools.kind)
        }
        guard elements.count <= ChatRequest.maximumTools else {
            throw .tooMany("tools", limit: ChatRequest.maximumTools)
        }
        var known: [ExactText: Int] = [:]
        var json = ByteBuffer(capacity: value.count + 64)
        json.append("[")
        for (index, element) in elements.enumerated() {
            let path = "tools[\(index)]"
            let tool = try Members(of: element, at: path)
            if let type = try tool.string("type"), !type.utf8.elementsEqual("function".utf8) {
                throw .unknownValue(path: "\(path).type", wanted: #""function""#)
            }
            guard let function = try tool.object("function") else { throw .missing(path: "\(path).function") }
            let name = try function.name("name", upTo: ChatRequest.maximumToolName)
            if let other = known[name] {
                throw .unknownValue(
                    path: "\(path).function.name", wanted: "another one than that of tools[\(other)]")
            }
            known[name] = index
            if index > 0 { json.append(",") }
            json.append("{\"type\":\"function\",\"function\":{\"name\":")
            json.append(jsonString: name)
            if let description = try function.string("description") {
                json.append(",\"description\":")
                json.append(jsonString: description)
            }
            json.append(",\"parameters\":")
            if let parameters = try function.object("parameters") {
                try check(parameters)
                json.append(parameters.json)
            } else {
                json.append("{\"type\":\"object\",\"properties\":{}}")
            }
            function.appendOthers(than: ["name", "description", "parameters"], to: &json)
            json.append("}")
            tool.appendOthers(than: ["type", "function"], to: &json)
            json.append("}")
        }
        json.append("]")
        return json.array
    }

    /// Checks what model servers read of the parameters of a function.
    private static func check(_ parameters: Members) throws(ChatRequestError) {
        _ = try parameters.string("type")
        if let properties = try parameters.object("properties") {
            // Error messages quote no names of the request.
            for (index, (_, value)) in properties.all.enumerated() where !value.isNull {
                let property = try Members(of: value, at: "\(properties.path)[\(index)]")
                _ = try property.string("description")
                try property.requireArray("enum")
            }
        }
        try parameters.requireArray("required", of: .string, "strings")
    }

    /// The members of an object of a tool. Null counts as absent; of two equal names the last one counts.
    private struct Members {
        let path: String
        let json: [UInt8]
        let all: [(name: String, value: JSONSlice)]

        init(of value: JSONSlice, at path: String) throws(ChatRequestError) {
            guard let members = value.members(first: .max) else {
                throw .wrongType(path: path, wanted: "an object", found: value.kind)
            }
            self.path = path
            json = value.bytes
            all = members
        }

        private func value(_ name: String, _ kind: JSONKind, _ noun: String) throws(ChatRequestError) -> JSONSlice? {
            guard let value = all.last(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value, !value.isNull else {
                return nil
            }
            guard value.kind == kind else {
                throw .wrongType(path: "\(path).\(name)", wanted: noun, found: value.kind)
            }
            return value
        }

        func string(_ name: String) throws(ChatRequestError) -> String? {
            try value(name, .string, "a string")?.string
        }

        func object(_ name: String) throws(ChatRequestError) -> Members? {
            guard let value = try value(name, .object, "an object") else { return nil }
            return try Members(of: value, at: "\(path).\(name)")
        }

        func name(_ name: String, upTo limit: Int) throws(ChatRequestError) -> String {
            guard let value = try value(name, .string, "a string"), let text = value.string else {
                throw .missing(path: "\(path).\(name)")
            }
            guard !text.isEmpty, text.utf8.count <= limit, value.storableString != nil, !text.hasControlCharacters
            else {
                throw .unknownValue(
                    path: "\(path).\(name)", wanted: "1 to \(limit) bytes without control characters")
            }
            return text
        }

        func requireArray(_ name: String, of kind: JSONKind? = nil, _ noun: String = "") throws(ChatRequestError) {
            guard let array = try value(name, .array, "an array"), let kind else { return }
            for element in array.elements(first: .max) ?? [] where element.kind != kind {
                throw .wrongType(path: "\(path).\(name)", wanted: "an array of \(noun)", found: element.kind)
            }
        }

        /// Appends the other members as they are, each after a comma.
        func appendOthers(than names: [String], to json: inout ByteBuffer) {
            for (name, value) in all where !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
                json.append(",")
                json.append(jsonString: name)
                json.append(":")
                json.append(value.bytes)
            }
        }
    }
}
