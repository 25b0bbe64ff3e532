import ChatterdBasics

/// A custom tool of Open Responses: a model calls it with a text in place of JSON. Codex has one, `apply_patch`.
///
/// Model servers know only functions, so the model gets a function with one text, and its calls come back as calls of the custom tool.
struct CustomTool {
    /// The only parameter of the function.
    private static let parameter = "input"

    /// The name of the function.
    let name: String
    let description: String?
    /// The syntax of `grammar`, such as `lark`.
    let syntax: String?
    /// The grammar that the text must fit; `nil` for any text. It is part of the description: no model server has it as a constraint.
    let grammar: String?

    /// The function that a model calls in the place of the tool.
    var function: OpenAIFunction {
        var words = description.map { [$0] } ?? []
        if let grammar { words.append("The text `input` must fit this grammar (\(syntax ?? "lark")):\n\(grammar)") }
        let schema =
            #"{"type":"object","properties":{"\#(Self.parameter)":{"type":"string"}},"required":["\#(Self.parameter)"]}"#
        return OpenAIFunction(
            name: name, description: words.isEmpty ? nil : words.joined(separator: "\n\n"),
            parameters: Array(schema.utf8))
    }

    /// The arguments of a call of the function, as JSON.
    static func arguments(of input: String) -> [UInt8] {
        var arguments = ByteBuffer()
        arguments.appendJSON { json in json.object { $0.member(parameter, input) } }
        return arguments.array
    }
}

extension ByteBuffer {
    /// Appends the text of a call of a custom tool as a JSON string. Arguments of another form than that of the function are the text
    /// themselves.
    mutating func append(customInputOf call: borrowing AnswerToolCall) {
        let arguments = call.arguments
        var text: Range<Int>?
        if !arguments.isEmpty, arguments[0] == UInt8(ascii: "{") {
            var count = 0
            JSONMembers.forEach(of: arguments) { reader, key, value in
                count += 1
                if count == 1, reader.matches(key, "input"), arguments[value.lowerBound] == UInt8(ascii: "\"") {
                    text = value
                } else {
                    text = nil
                }
            }
        }
        if let text { append(arguments.extracting(text)) } else { append(argumentsOf: call) }
    }
}
