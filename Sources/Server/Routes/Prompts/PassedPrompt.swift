import ChatterdBasics
import ChatterdLanguageModels
import ChatterdRelay

/// The body of an `/llmprompt`. The server replaces the name of its model and passes the rest on.
struct PassedPrompt {
    /// The model that the body names.
    let model: String
    /// The tokens of the answer that the body permits (`options.num_predict`); `nil` if it names no positive number.
    let answerLimit: Int?
    private let body: [UInt8]
    /// The range of the name in the body, with its quotes.
    private let nameRange: Range<Int>

    /// Finds the model in a body.
    ///
    /// Go's JSON decoder, and so Ollama's, ignores the case of member names and uses the last of several. A body that names a model
    /// twice, or in another case, could select another model than the router does.
    /// - Throws: `invalidRequest`.
    init(_ body: [UInt8]) throws(RelayError) {
        var found: (model: String, range: Range<Int>)?
        var count = 0
        var options: [RawMember] = []
        do throws(JSONError) {
            try JSONReader.validate(body.span)
            var reader = JSONReader(body.span)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let name = String(decodingJSON: body.span.extracting(key.range))
                guard name.lowercased() == "model" else {
                    let value = try reader.skipValue()
                    if name == "options" {
                        options = [RawMember(key: name, value: body.span.extracting(value).array)]
                    }
                    continue
                }
                count += 1
                guard name == "model", try reader.kind() == .string else {
                    try reader.skipValue()
                    continue
                }
                let text = try reader.string().range
                found = (
                    String(decodingJSON: body.span.extracting(text)), text.lowerBound - 1..<text.upperBound + 1
                )
            }
            try reader.finish()
        } catch {
            throw RelayError(.invalidRequest, "The body must be a JSON object such as \(Self.example): \(error).")
        }
        guard let found, count == 1, !found.model.isEmpty else {
            throw RelayError(
                .invalidRequest,
                count > 1
                    ? "model must occur once, in any case of its letters."
                    : "model must be the name of a model, as in \(Self.example).")
        }
        (model, nameRange) = found
        answerLimit = options.generationOption("num_predict").flatMap { $0 > 0 ? $0 : nil }
        self.body = body
    }

    private static let example = #"{"model":"llama3.2","prompt":"Hello"}"#

    /// The body with the name that the server has for the model.
    func body(asking name: String) -> [UInt8] {
        guard name != model else { return body }
        var changed = ByteBuffer(capacity: body.count + name.utf8.count)
        changed.append(body.span.extracting(..<nameRange.lowerBound))
        changed.append(jsonString: name)
        changed.append(body.span.extracting(nameRange.upperBound...))
        return changed.array
    }
}
