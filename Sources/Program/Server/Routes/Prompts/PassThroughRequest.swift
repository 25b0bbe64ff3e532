import ChatterdBasics
import ChatterdChat
import ChatterdDialects
import ChatterdRelay
import ChatterdSockets

/// The body of an `/llmprompt`, or of another request that is passed on. The server replaces the name of its model and passes the rest on.
struct PassThroughRequest {
    /// The model that the body names.
    let model: String
    /// The tokens of the answer that the body permits (`options.num_predict` or `max_tokens`), at most `largestLimit`; `nil` if it names
    /// no positive number.
    let answerLimit: Int?
    /// The most tokens that a body reserves. The requests of conversations have the same limit, so that no sum of the usage overflows.
    static let largestLimit = 999_999_999
    /// The member `stream`; `nil` if it is absent or no boolean.
    private(set) var stream: Bool?
    private let body: [UInt8]
    /// The range of the name in the body, with its quotes.
    private let nameRange: Range<Int>
    /// The range of a `keep_alive` that Ollama would refuse, and what replaces it; `nil` for none.
    private let keepAlive: Replacement?

    /// A part of the body, and the JSON that replaces it.
    private typealias Replacement = (range: Range<Int>, json: [UInt8])

    /// Finds the model in a body.
    ///
    /// Go's JSON decoder, and so Ollama's, ignores the case of member names and uses the last of several. A body that names a model
    /// twice, or in another case, could select another model than the router does.
    ///
    /// - Parameter members: the members that may name the model, one at least. The first of them that is not empty counts.
    /// - Throws: `invalidRequest`.
    init(_ body: [UInt8], naming members: [String] = ["model"]) throws(RelayError) {
        var found: [String: (model: String, range: Range<Int>)] = [:]
        var counts: [String: Int] = [:]
        var options: [RawMember] = []
        var maximumTokens: Int?
        var keepAlive: Replacement?
        do throws(JSONError) {
            try JSONReader.validate(body.span)
            var reader = JSONReader(body.span)
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let name = String(nameInJSON: body.span.extracting(key.range))
                let lowercased = name.lowercased()
                guard members.contains(lowercased) else {
                    if name == "stream", try reader.kind() == .boolean {
                        stream = try reader.boolean()
                        continue
                    }
                    let value = try reader.skipValue()
                    switch name {
                    case "options": options = [RawMember(key: name, value: body.span.extracting(value).array)]
                    case "keep_alive":
                        keepAlive = OllamaKeepAlive.number(of: body.span.extracting(value))
                            .map { (range: value, json: $0) }
                    case "max_tokens":
                        // The model server refuses other values.
                        var number = JSONReader(body.span.extracting(value))
                        maximumTokens = try? number.integer()
                    default: break
                    }
                    continue
                }
                counts[lowercased, default: 0] += 1
                guard members.contains(name), try reader.kind() == .string else {
                    try reader.skipValue()
                    continue
                }
                let text = try reader.string().range
                found[name] = (
                    String(decodingJSON: body.span.extracting(text)), text.lowerBound - 1..<text.upperBound + 1
                )
            }
            try reader.finish()
        } catch {
            throw RelayError(
                .invalidRequest, "The body must be a JSON object such as {\"\(members[0])\":\"llama3.2\"}: \(error).")
        }
        if let repeated = members.first(where: { counts[$0, default: 0] > 1 }) {
            throw RelayError(.invalidRequest, "\(repeated) must occur once, in any case of its letters.")
        }
        guard let named = members.lazy.compactMap({ found[$0] }).first(where: { !$0.model.isEmpty }) else {
            throw RelayError(
                .invalidRequest, "\(members[0]) must be the name of a model, as in {\"\(members[0])\":\"llama3.2\"}.")
        }
        try named.model.requireName(members[0], upTo: ModelName.maximumLength)
        (model, nameRange) = named
        answerLimit = (options.generationOption("num_predict") ?? maximumTokens).flatMap {
            $0 > 0 ? min($0, Self.largestLimit) : nil
        }
        self.body = body
        self.keepAlive = keepAlive
    }

    /// Finds the model in a body of any size; in a long one beside the event loop.
    static func reading(
        _ body: [UInt8], naming members: [String] = ["model"]
    ) async throws(RelayError) -> PassThroughRequest {
        try await LongWork.run(on: body.count) { () throws(RelayError) in try PassThroughRequest(body, naming: members)
        }
    }

    /// The body with the name that the server has for the model, and with the seconds of a `keep_alive` as a number.
    func body(asking name: String) -> [UInt8] {
        var replacements: [Replacement] = []
        if name != model {
            var quoted = ByteBuffer()
            quoted.append(jsonString: name)
            replacements.append((nameRange, quoted.array))
        }
        if let keepAlive { replacements.append(keepAlive) }
        guard !replacements.isEmpty else { return body }
        replacements.sort { $0.range.lowerBound < $1.range.lowerBound }
        var changed = ByteBuffer(capacity: body.count + name.utf8.count)
        var position = 0
        for replacement in replacements {
            changed.append(body.span.extracting(position..<replacement.range.lowerBound))
            changed.append(replacement.json)
            position = replacement.range.upperBound
        }
        changed.append(body.span.extracting(position...))
        return changed.array
    }
}
