import ChatterdBasics
import ChatterdLanguageModels

/// The origin of a reply, which is stored with it: the messages that the model was sent, and which model server generated which
/// part of the text.
public struct ReplyAccount: Sendable, Equatable {
    /// A part of the text, and the model server that generated it.
    public struct Part: Sendable, Equatable {
        /// The name of the model server.
        public var upstream: String
        /// The model's name there.
        public var model: String
        /// The range of the part in the text, in bytes of UTF-8.
        public var text: Range<Int>

        /// Creates a part.
        public init(upstream: String, model: String, text: Range<Int>) {
            self.upstream = upstream
            self.model = model
            self.text = text
        }
    }

    /// The parts of the text, in order.
    public var parts: [Part] = []
    /// The report on the last prompt; `nil` if no model server was asked.
    public var receipt: ReplyReceipt?

    /// Creates an empty provenance.
    public init() {}
}

extension ByteBuffer {
    /// Appends a provenance as members of a JSON object without braces: `"parts":[…],"receipt":{…}`. Empty members are omitted.
    public mutating func append(_ account: ReplyAccount) {
        if !account.parts.isEmpty {
            append("\"parts\":[")
            for (index, part) in account.parts.enumerated() {
                append(index == 0 ? "{\"upstream\":" : ",{\"upstream\":")
                append(jsonString: part.upstream)
                append(",\"model\":")
                append(jsonString: part.model)
                append(",\"from\":")
                append(decimal: part.text.lowerBound)
                append(",\"to\":")
                append(decimal: part.text.upperBound)
                append("}")
            }
            append("]")
        }
        if let receipt = account.receipt {
            append(account.parts.isEmpty ? "\"receipt\":{" : ",\"receipt\":{")
            append(receipt)
            append("}")
        }
    }

    /// Appends the members of a report. Unknown and empty members are omitted.
    private mutating func append(_ receipt: ReplyReceipt) {
        append("\"messages\":")
        append(decimal: receipt.messages)
        if !receipt.sent.isEmpty {
            append(",\"sent\":[")
            for (index, places) in receipt.sent.enumerated() {
                append(index == 0 ? "[" : ",[")
                append(decimal: Int(places.lowerBound))
                append(",")
                append(decimal: Int(places.upperBound))
                append("]")
            }
            append("]")
        }
        if !receipt.omitted.isEmpty {
            append(",\"left_out\":[")
            for (index, omitted) in receipt.omitted.enumerated() {
                append(index == 0 ? "{\"from\":" : ",{\"from\":")
                append(decimal: Int(omitted.places.lowerBound))
                append(",\"to\":")
                append(decimal: Int(omitted.places.upperBound))
                append(",\"why\":\"")
                append(utf8: omitted.why.rawValue)
                append("\"}")
            }
            append("]")
        }
        if receipt.isAbridged {
            append(",\"abridged\":true")
        }
        append(",\"context\":", receipt.contextLength)
        append(",\"estimated_tokens\":", receipt.estimatedTokens)
        append(",\"prompt_tokens\":", receipt.promptTokens)
        if receipt.promptTokens != nil {
            append(receipt.isCutByServer ? ",\"cut_by_server\":true" : ",\"cut_by_server\":false")
        }
    }

    private mutating func append(_ key: StaticString, _ number: Int?) {
        guard let number else { return }
        append(key)
        append(decimal: number)
    }
}
