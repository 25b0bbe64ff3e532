import ChatterdBasics
import ChatterdChat

/// The origin of a reply, which is stored with it: the messages that the model was sent, and which model server generated which
/// part of the text.
public struct ReplyProvenance: Sendable, Equatable {
    /// A part of the text, and the model server that generated it.
    public struct Part: Sendable, Equatable {
        /// The name of the model server.
        public var upstream: String
        /// The model's name there.
        public var model: String
        /// The range of the part in the text, in bytes of UTF-8.
        public var text: Range<Int>

        public init(upstream: String, model: String, text: Range<Int>) {
            self.upstream = upstream
            self.model = model
            self.text = text
        }
    }

    /// The parts of the text, in order.
    public var parts: [Part] = []
    /// The report on the last prompt; `nil` if no model server was asked.
    public var report: PromptReport?
    /// The paths of the request that have no effect, as a JSON array; `nil` for none.
    public var ignored: [UInt8]?
    /// The result of the check of the answer's form, as a JSON object; `nil` if it was not checked.
    public var format: [UInt8]?

    public init(
        parts: [Part] = [], report: PromptReport? = nil, ignored: [UInt8]? = nil, format: [UInt8]? = nil
    ) {
        self.parts = parts
        self.report = report
        self.ignored = ignored
        self.format = format
    }
}

extension ByteBuffer {
    /// Appends a provenance as members of a JSON object without braces: `"parts":[…],"receipt":{…}`. Empty members are omitted.
    public mutating func append(_ provenance: ReplyProvenance) {
        if !provenance.parts.isEmpty {
            append("\"parts\":[")
            for (index, part) in provenance.parts.enumerated() {
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
        if let report = provenance.report {
            append(provenance.parts.isEmpty ? "\"receipt\":{" : ",\"receipt\":{")
            append(report)
            if let ignored = provenance.ignored {
                append(",\"ignored\":")
                append(ignored)
            }
            if let format = provenance.format {
                append(",\"format\":")
                append(format)
            }
            append("}")
        }
    }

    /// Appends the members of a report. Unknown and empty members are omitted.
    private mutating func append(_ report: PromptReport) {
        append("\"messages\":")
        append(decimal: report.messages)
        if !report.sent.isEmpty {
            append(",\"sent\":[")
            for (index, numbers) in report.sent.enumerated() {
                append(index == 0 ? "[" : ",[")
                append(decimal: Int(numbers.lowerBound))
                append(",")
                append(decimal: Int(numbers.upperBound))
                append("]")
            }
            append("]")
        }
        if !report.omitted.isEmpty {
            append(",\"left_out\":[")
            for (index, omitted) in report.omitted.enumerated() {
                append(index == 0 ? "{\"from\":" : ",{\"from\":")
                append(decimal: Int(omitted.numbers.lowerBound))
                append(",\"to\":")
                append(decimal: Int(omitted.numbers.upperBound))
                append(",\"why\":\"")
                append(utf8: omitted.why.rawValue)
                append("\"}")
            }
            append("]")
        }
        if report.isAbridged {
            append(",\"abridged\":true")
        }
        append(",\"context\":", report.contextLength)
        append(",\"estimated_tokens\":", report.estimatedTokens)
        append(",\"prompt_tokens\":", report.promptTokens)
        if report.promptTokens != nil {
            append(report.isCutByServer ? ",\"cut_by_server\":true" : ",\"cut_by_server\":false")
        }
    }

    private mutating func append(_ key: StaticString, _ number: Int?) {
        guard let number else { return }
        append(key)
        append(decimal: number)
    }
}
