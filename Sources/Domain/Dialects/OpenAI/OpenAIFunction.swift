import ChatterdBasics

/// A tool as model servers know it: a function in the form of OpenAI's chat, which Ollama has as well.
struct OpenAIFunction {
    let name: String
    let description: String?
    /// The JSON schema of the arguments; `nil` for none.
    let parameters: [UInt8]?
    var strict: Bool?

    /// Writes the tool.
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("type", "function")
            json.object("function") { json in
                json.member("name", name)
                json.member("description", description)
                if let parameters { json.member("parameters", raw: parameters.span) }
                json.member("strict", strict)
            }
        }
    }
}
