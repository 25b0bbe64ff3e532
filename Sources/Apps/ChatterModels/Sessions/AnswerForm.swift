/// How a type of answer is asked for: text as text, an object as itself, and any other value as the member `value` of an object, because
/// servers want an object.
struct AnswerForm<Content: Generable>: Sendable {
    private enum Kind {
        case text, object, wrapped
    }

    private let kind: Kind

    init() {
        if Content.self == String.self {
            kind = .text
        } else if case .object = Content.schema {
            kind = .object
        } else {
            kind = .wrapped
        }
    }

    /// The schema of the request; `nil` for text.
    var schema: Schema? {
        switch kind {
        case .text: nil
        case .object: Content.schema
        case .wrapped:
            .object(
                name: "Answer", description: nil, properties: [Schema.Property(name: "value", schema: Content.schema)])
        }
    }

    /// The value of a whole answer.
    ///
    /// - Throws: `notJSON`, `schemaViolation`.
    func content(of text: String) throws(LLMError) -> Content {
        if kind == .text, let content = text as? Content { return content }
        let content: StructuredContent
        do throws(JSONFault) {
            var json = AnswerJSON()
            try json.receive(text)
            content = try json.finish()
        } catch {
            throw .notJSON(error, answer: text)
        }
        guard kind == .wrapped else { return try Content(checking: content) }
        guard let schema, case let violations = schema.violations(in: content), violations.isEmpty else {
            throw .schemaViolation(schema?.violations(in: content) ?? [], content)
        }
        return try Content(checking: content["value"] ?? .null)
    }

    /// The value so far.
    func partial(of json: AnswerJSON) -> Content.Partial? {
        guard let content = json.value else { return nil }
        guard kind == .wrapped else { return Content.Partial(partial: content) }
        return content["value"].flatMap { Content.Partial(partial: $0) }
    }

    /// The text so far, for text.
    func partial(of text: String) -> Content.Partial? {
        kind == .text ? Content.Partial(partial: .unfinishedString(text)) : nil
    }
}
