import ChatterdBasics
import ChatterdChat
import ChatterdRelay

/// `/v1/embeddings`.
struct OpenAIEmbeddings: PassTranslator {
    /// The limit of texts in a request and of embeddings in an answer.
    static let countLimit = 2_048

    var fields: [DoorField] { Self.fields }

    static let fields: [DoorField] = [
        DoorField("model", .translated("the model")),
        DoorField("input", .translated("a text, or a list of texts; tokens are refused")),
        DoorField("encoding_format", .translated("`float`; or `base64`, which is made here")),
        DoorField("dimensions", .passed), DoorField("user", .passed),
    ]

    var hasAnswerTokens: Bool { false }

    func path(at kind: UpstreamDescription.Kind) -> String? {
        switch kind {
        case .openai: "/embeddings"
        case .ollama: "/api/embed"
        case .llamastack, .echo: nil
        }
    }

    func ollamaBody(of body: [UInt8], asking name: String) throws(RelayError) -> [UInt8] {
        let draft = try RequestDraft(body, Self.fields, others: .passed)
        guard let input = draft.body["input"] else { throw .invalid("input is missing.", "input") }
        try Self.check(input)
        return try draft.ollamaBody(asking: name, with: [RawMember(key: "input", value: input.json)])
    }

    /// Checks that an input is a text or texts.
    private static func check(_ input: JSONSlice) throws(RelayError) {
        if let text = input.string {
            guard !text.isEmpty else { throw .invalid("input is empty.", "input") }
            return
        }
        switch input.elements(first: 1)?.first?.kind {
        case .number?, .array?: throw tokens
        default: break
        }
        guard let texts = input.elements(atMost: countLimit), !texts.isEmpty else {
            throw .wrongType("input", "a text or a list of 1 to \(countLimit) texts")
        }
        guard texts.allSatisfy({ $0.string != nil }) else { throw tokens }
    }

    /// LangChain sends tokens of OpenAI's models by default.
    private static let tokens = RelayError.unsupported(
        "input",
        "the model server of this model takes texts, and no tokens. With LangChain, set check_embedding_ctx_length=False."
    )

    func makeEncoder(
        for body: [UInt8], at kind: UpstreamDescription.Kind, _ context: PassContext
    ) throws(RelayError) -> any PassedAnswerEncoder {
        guard kind == .ollama else { return WholePassedAnswer() }
        let isBase64: Bool
        switch try RequestDraft(body, Self.fields, others: .passed).body.string("encoding_format") {
        case nil, "float": isBase64 = false
        case "base64": isBase64 = true
        default: throw .unsupported("encoding_format", "use float or base64.")
        }
        return WholePassedAnswer { answer, output throws(PassedAnswerProblem) in
            try Self.append(answer, context, isBase64: isBase64, to: &output)
        }
    }

    /// Appends the answer of an Ollama's `/api/embed`.
    private static func append(
        _ answer: DoorMembers, _ context: PassContext, isBase64: Bool, to output: inout ByteBuffer
    ) throws(PassedAnswerProblem) {
        guard let vectors = answer["embeddings"]?.elements(atMost: countLimit),
            vectors.allSatisfy({ $0.kind == .array })
        else { throw .malformed("it has no list of embeddings") }
        output.append("{\"object\":\"list\",\"data\":[")
        for (index, vector) in vectors.enumerated() {
            if index > 0 { output.append(",") }
            output.append("{\"object\":\"embedding\",\"index\":")
            output.append(decimal: index)
            output.append(",\"embedding\":")
            if isBase64 {
                let floats = try bytes(of: vector)
                output.append("\"")
                output.append(base64: floats.span)
                output.append("\"")
            } else {
                output.append(vector.json)
            }
            output.append("}")
        }
        let tokens = answer["prompt_eval_count"]?.count ?? 0
        output.append("],")
        output.append("\"model\":")
        output.append(jsonString: context.model)
        output.append(",\"usage\":{\"prompt_tokens\":")
        output.append(decimal: tokens)
        output.append(",\"total_tokens\":")
        output.append(decimal: tokens)
        output.append("}}")
    }

    /// The numbers of a vector as little-endian floats of 32 bits.
    private static func bytes(of vector: JSONSlice) throws(PassedAnswerProblem) -> [UInt8] {
        var bytes: [UInt8] = []
        // The texts of the numbers are all that the array has beside brackets and white space.
        let inside = vector.json.dropFirst().dropLast()
        for text in inside.split(separator: UInt8(ascii: ",")) {
            let digits = text.filter { $0 > 0x20 }
            guard let number = Float(String(decoding: digits, as: UTF8.self)), number.isFinite else {
                throw .malformed("an embedding has a value that is not a number")
            }
            let bits = number.bitPattern
            for shift in stride(from: 0, to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        }
        return bytes
    }
}
