import ChatterdBasics
import ChatterdLanguageModels

/// What is kept of how a reply came about: what the model was sent, and which model server made which part.
public struct ReplyAccount: Sendable, Equatable {
    /// A part of the text, and who made it.
    public struct Part: Sendable, Equatable {
        /// The name of the model server.
        public var upstream: String
        /// The model's name there.
        public var model: String
        /// The bytes of the text, in UTF-8.
        public var text: Range<Int>

        /// Makes a part.
        public init(upstream: String, model: String, text: Range<Int>) {
            self.upstream = upstream
            self.model = model
            self.text = text
        }
    }

    /// Who made which part of the text, in order.
    public var parts: [Part] = []
    /// What the model was sent, the last time that one was asked.
    public var receipt: ReplyReceipt?

    /// Makes an empty account.
    public init() {}
}

extension ByteBuffer {
    /// Appends an account as members of a JSON object, without braces: `"parts":[…],"receipt":{…}`; nothing of an empty one.
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

    /// Appends the members of a receipt; those that are unknown, or say that there is nothing, are left out.
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
