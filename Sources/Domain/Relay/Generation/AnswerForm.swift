import ChatterdBasics
import ChatterdChat

/// The form that a request asks for. The complete answer is checked against it (docs/schemas.md).
enum AnswerForm: Sendable {
    /// `"json"`: any object.
    case object
    /// A JSON Schema, as JSON text.
    case schema([UInt8])
    /// Calls whose arguments fit the schemas of these tools, a JSON array.
    case calls(tools: [UInt8])

    /// The form of `format` in a request; `nil` if it asks for none, or for one that only its model server knows.
    init?(_ members: [RawMember]) {
        guard let value = members.last(where: { $0.key == "format" })?.value else { return nil }
        if value.first == UInt8(ascii: "{") {
            self = .schema(value)
        } else if value == [UInt8]("\"json\"".utf8) {
            self = .object
        } else {
            return nil
        }
    }

    /// The size of the schemas, in bytes.
    var size: Int {
        switch self {
        case .object: 0
        case .schema(let text), .calls(let text): text.count
        }
    }

    /// Throws if the schema cannot be read.
    func validate() throws(RelayError) {
        guard case .schema(let text) = self else { return }
        do throws(JSONSchemaError) {
            _ = try JSONSchema(text)
        } catch {
            var refusal = RelayError(.invalidRequest, "The schema of format \(error.reason).")
            refusal.parameter = "format"
            throw refusal
        }
    }

    /// The result of a check.
    struct Outcome: Sendable {
        /// `nil` if the answer has the form.
        var violation: JSONSchemaViolation?
        /// Keywords of the schema that were not checked.
        var unchecked: [String] = []
    }

    /// Checks the text of an answer, or its calls, with a number of steps; `nil` if there is nothing to check. A schema of a stored request
    /// that cannot be read is not checked.
    func outcome(of answer: [UInt8], steps: Int = JSONSchema.maximumSteps) -> Outcome? {
        let text: [UInt8]
        switch self {
        case .object: text = Array(#"{"type":"object"}"#.utf8)
        case .schema(let schema): text = schema
        case .calls(let tools): return Self.outcome(of: answer, tools: tools, steps: steps)
        }
        guard let schema = try? JSONSchema(text) else { return Outcome(unchecked: ["…"]) }
        return Outcome(violation: schema.violation(of: answer, steps: steps), unchecked: schema.unchecked)
    }

    // MARK: - The repair

    /// The size up to which the request for a repair repeats the answer, and up to which it repeats the schema, in bytes.
    static let repeatedAnswer = 64 << 10
    static let repeatedSchema = 16 << 10

    /// The messages that ask the model to repair an answer: the answer, and what is wrong with it.
    ///
    /// The schema is in the text too, because not every model server passes it on to the model.
    func repair(of answer: [UInt8], after violation: JSONSchemaViolation) -> EncodedConversation {
        var messages = EncodedConversation()
        if case .calls = self {
            // The request has the schemas with its tools.
            var text = "Your calls of tools do not have the form of their parameters. \(violation.sentence)"
            if answer.count <= Self.repeatedAnswer {
                text += " The calls are: \(String(decoding: answer, as: UTF8.self))"
            }
            text += "\n\nCall the tools again, all of them, with corrected arguments."
            messages.append(ModelMessage(role: "user", content: text))
            return messages
        }
        var text = "Your answer does not have the form that was asked for. \(violation.sentence)"
        if case .schema(let schema) = self, schema.count <= Self.repeatedSchema {
            text += " The JSON Schema is: \(String(decoding: schema, as: UTF8.self))"
        }
        text += "\n\nAnswer again with the whole corrected JSON, and nothing else."
        if !answer.isEmpty, answer.count <= Self.repeatedAnswer {
            messages.append(ModelMessage(role: "assistant", content: String(decoding: answer, as: UTF8.self)))
        }
        messages.append(ModelMessage(role: "user", content: text))
        return messages
    }
}

extension RelayError {
    /// The error of a complete answer without the form that the request asks for. The log does not get the place, which is text of the model.
    init(_ violation: JSONSchemaViolation) {
        self.init(
            ModelError(
                .formViolated, "The answer does not have the form that was asked for. \(violation.sentence)",
                detail: "keyword \(violation.keyword.isEmpty ? "none" : violation.keyword)"))
    }
}

extension ByteBuffer {
    /// Appends what the receipt says of a check, as a JSON object.
    mutating func append(_ outcome: AnswerForm.Outcome, repaired: JSONSchemaViolation?) {
        appendJSON { json in
            json.object { json in
                json.member("fits", outcome.violation == nil)
                if let repaired {
                    json.object("repaired") { json in
                        json.member("pointer", repaired.pointer)
                        json.member("keyword", repaired.keyword)
                    }
                }
                if !outcome.unchecked.isEmpty {
                    json.array("unchecked") { array in outcome.unchecked.forEach { array.string($0) } }
                }
            }
        }
    }
}

/// The forms of the answer of a reply, and how far its check is.
struct CheckedForm {
    private let text: AnswerForm?
    private let calls: AnswerForm?
    var repair = EncodedConversation()
    var outcome: AnswerForm.Outcome?

    /// The forms of a request; `nil` if it asks for none.
    init?(_ members: [RawMember]) {
        text = AnswerForm(members)
        calls = AnswerForm(toolsOf: members)
        if text == nil, calls == nil { return nil }
    }

    /// The form of an answer with calls of tools, or of one without.
    func form(hasCalls: Bool) -> AnswerForm? { hasCalls ? calls : text }

    /// What the receipt says of the last check; `nil` before the first one.
    func receipt(repaired: JSONSchemaViolation?) -> [UInt8]? {
        guard let outcome else { return nil }
        var json = ByteBuffer()
        json.append(outcome, repaired: repaired)
        return json.array
    }
}
